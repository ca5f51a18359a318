//! A batch in a separate process.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use imagekiln::{Client, types::Gen2Pro};
use imagekiln_batch::{Batch, Job, JobState, JobStatus, Ledger};
use imagekiln_simulator::{Config, Simulator};

use crate::server::{ACCESS_KEY, Server};

pub const SECRET: &str = "SERVER-SECRET";

const TEST: &str = "child::run_batch";
const PREFIX: &str = "IMAGEKILN_TEST_";
const VARIABLES: [&str; 5] = ["DIRECTORY", "SERVICE", "KEY", "OUTPUT", "TARGET"];

pub struct Fixture {
    pub server: Server,
    simulator: Simulator,
    directory: tempfile::TempDir,
}

impl Fixture {
    pub async fn new() -> Self {
        Self {
            server: Server::start(SECRET).await,
            simulator: Simulator::start(Config::default()).await.unwrap(),
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn ledger_path(&self) -> PathBuf {
        self.directory.path().join("ledger.db")
    }

    pub fn accepted(&self) -> u64 {
        self.simulator.counts().accepted
    }

    /// Runs a batch with one job to its end, and returns the number of saved pictures or the error.
    pub async fn run(&self, output: &str, target: &str) -> String {
        self.run_with(output, target, &[]).await
    }

    pub async fn run_with(&self, output: &str, target: &str, more: &[(&str, &str)]) -> String {
        let mut command = self.command(output, target);
        command.envs(more.iter().copied());
        let ended = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
        let errors = String::from_utf8(ended.stderr).unwrap();
        assert!(ended.status.success() && !errors.contains("panicked"), "{errors}");
        fs::read_to_string(self.directory.path().join("outcome")).unwrap()
    }

    pub fn start(&self, output: &str, target: &str) -> Child {
        self.command(output, target).spawn().unwrap()
    }

    fn command(&self, output: &str, target: &str) -> Command {
        let mut command = Command::new(env::current_exe().unwrap());
        let directory = self.directory.path().to_str().unwrap();
        let values =
            [directory, self.simulator.base_url(), self.simulator.api_key(), output, target];
        let names = VARIABLES.iter().map(|name| format!("{PREFIX}{name}"));
        command
            .args(["--exact", TEST, "--nocapture"])
            .stdout(Stdio::null())
            .envs(names.zip(values))
            .env("AWS_ACCESS_KEY_ID", ACCESS_KEY)
            .env("AWS_SECRET_ACCESS_KEY", SECRET)
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ENDPOINT", self.server.url())
            .env("AWS_ALLOW_HTTP", "true")
            .env("NO_PROXY", "127.0.0.1");
        command
    }

    pub async fn status(&self) -> JobStatus {
        let ledger = Ledger::open(self.ledger_path()).await.unwrap();
        ledger.jobs().get("fox").await.unwrap().unwrap()
    }
}

/// The child. Does nothing in the process of the tests.
#[tokio::test]
async fn run_batch() {
    if env::var(format!("{PREFIX}DIRECTORY")).is_err() {
        return;
    }
    let [directory, service, key, output, target] =
        VARIABLES.map(|name| env::var(format!("{PREFIX}{name}")).unwrap());
    let directory = Path::new(&directory);
    let ledger = Ledger::open(directory.join("ledger.db")).await.unwrap();
    let request = Gen2Pro::new("a red fox").width(64).height(64).seed(7);
    let client = Client::builder().api_key(key).base_url(service);
    let mut batch = Batch::open(client, ledger)
        .unwrap()
        .jobs([Job::new("fox", target, request)])
        .save_to(output);
    let outcome = match batch.run().await {
        Ok(report) => format!("{} saved", report.count(JobState::Saved)),
        Err(error) => format!("{error}\n{error:?}"),
    };
    fs::write(directory.join("outcome"), outcome).unwrap();
}
