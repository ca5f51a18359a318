//! A simulator, a directory, and jobs.

use std::path::{Path, PathBuf};

use imagekiln::{Client, ClientBuilder, types::Gen2Pro};
use imagekiln_batch::{Batch, ErrorKind, Job, Ledger, State};
use imagekiln_simulator::{Config, Simulator};

/// The cost of a request of [`job`] in credits.
pub const PRICE: f64 = 3.0;

pub struct Fixture {
    pub simulator: Simulator,
    pub directory: tempfile::TempDir,
}

impl Fixture {
    pub async fn new() -> Self {
        Self::with(Config::default()).await
    }

    pub async fn with(config: Config) -> Self {
        let simulator = Simulator::start(config).await.unwrap();
        Self { simulator, directory: tempfile::tempdir().unwrap() }
    }

    pub fn ledger_path(&self) -> PathBuf {
        self.directory.path().join("ledger.db")
    }

    pub fn output(&self) -> PathBuf {
        self.directory.path().join("pictures")
    }

    pub async fn ledger(&self) -> Ledger {
        for _ in 0..100_000 {
            match Ledger::open(self.ledger_path()).await {
                // The tasks of a dropped run may still hold it, and so does a child process of
                // another test until it has started its program.
                Err(error) if error.kind() == ErrorKind::Locked => tokio::task::yield_now().await,
                opened => return opened.unwrap(),
            }
        }
        panic!("the ledger is still open");
    }

    /// Opens the ledger again, for another batch.
    pub async fn reopen(&self, ledger: Ledger) -> Ledger {
        drop(ledger);
        self.ledger().await
    }

    pub fn client(&self) -> ClientBuilder {
        Client::builder().api_key(self.simulator.api_key()).base_url(self.simulator.base_url())
    }

    pub fn batch(&self, ledger: &Ledger) -> Batch {
        Batch::open(self.client(), ledger.clone()).unwrap().save_to(self.output())
    }

    pub fn accepted(&self) -> u64 {
        self.simulator.counts().accepted
    }

    /// The credits that the service charged.
    pub fn charged(&self) -> f64 {
        self.simulator.counts().charged.hundredths() as f64 / 100.0
    }
}

/// A small job with this prompt. Its target is the name with the extension `.jpg`.
pub fn job(name: &str, prompt: &str) -> Job {
    Job::new(name, format!("{name}.jpg"), Gen2Pro::new(prompt).width(64).height(64))
}

pub async fn state(ledger: &Ledger, name: &str) -> State {
    ledger.job(name).await.unwrap().unwrap().state
}

pub async fn reason(ledger: &Ledger, name: &str) -> String {
    ledger.job(name).await.unwrap().unwrap().reason.unwrap()
}

pub fn is_picture(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\xff\xd8\xff"))
}

pub fn assert_equal(one: f64, other: f64) {
    assert!((one - other).abs() < 1e-6, "{one} and {other}");
}
