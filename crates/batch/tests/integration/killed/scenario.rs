//! The common part of all scenarios: starts workers, and kills them when the service has accepted
//! some jobs.

use std::{net::TcpListener, time::Duration};

use imagekiln_simulator::{Config, WebhookSettings};
use tokio::time::Instant;

use super::{
    child::{self, Start},
    process::Process,
    sizes::Sizes,
};
use crate::support::{Backend, Fixture};

/// The longest time between reaching a number of accepted jobs and the kill, in microseconds.
const LONGEST_DELAY: u64 = 100_000;

/// The longest jump of the wall clock between two processes, in seconds. The proofs that a picture
/// is gone need ten minutes of this clock, so a longer jump could make one too early.
const LONGEST_JUMP: u64 = 300;

pub struct Scenario {
    pub fixture: Fixture,
    pub sizes: Sizes,
    pub started_at: Instant,
    pub starts: u64,
    pub kills: u64,
    /// The number of unknown jobs that a person resolved.
    pub resolved: u64,
    /// The number of events that arrived only after all workers had ended.
    pub passed_on: u64,
    /// Whether the ledger was restored from a backup. The jobs that it continues save their
    /// pictures again, under other names.
    pub is_restored: bool,
    pub random: fastrand::Rng,
    /// Webhooks arrive here. All workers share it.
    listener: TcpListener,
}

impl Scenario {
    pub async fn new(backend: Backend, faults: Vec<String>) -> Self {
        let sizes = Sizes::of_one_process();
        let config = config(sizes, faults);
        Self::with(Fixture::with(backend, config).await, sizes)
    }

    pub fn with(fixture: Fixture, sizes: Sizes) -> Self {
        println!("seed {}", sizes.seed);
        Self {
            fixture,
            sizes,
            started_at: Instant::now(),
            starts: 0,
            kills: 0,
            resolved: 0,
            passed_on: 0,
            is_restored: false,
            random: fastrand::Rng::with_seed(sizes.seed),
            listener: TcpListener::bind("127.0.0.1:0").unwrap(),
        }
    }

    pub fn start(&mut self) -> Process {
        self.start_on(self.fixture.ledger_name(), self.sizes.jobs)
    }

    /// Starts a worker that opens the ledger at this path or URL, and adds this number of jobs.
    pub fn start_on(&mut self, ledger: String, jobs: u64) -> Process {
        self.starts += 1;
        let start = Start {
            ledger,
            jobs,
            max_active: self.sizes.max_active(),
            ahead: self.random.u64(..LONGEST_JUMP),
        };
        child::start(&self.fixture, &self.listener, &start)
    }

    pub fn kill(&mut self, process: Process) {
        self.kills += u64::from(process.kill());
    }

    /// Waits until a random moment after the service has accepted this number of jobs. Returns
    /// `false` if all processes ended before, or are suspended: unknown jobs may leave too few that
    /// are accepted.
    pub async fn reach<'a>(
        &mut self,
        accepted: u64,
        processes: impl IntoIterator<Item = &'a mut Process>,
    ) -> bool {
        let mut processes: Vec<_> = processes.into_iter().collect();
        let delay = Duration::from_micros(self.random.u64(..LONGEST_DELAY));
        while self.fixture.accepted() < accepted {
            // Notices each process that failed.
            let active = processes.iter_mut().map(|process| u32::from(process.is_active()));
            if active.sum::<u32>() == 0 {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(delay).await;
        true
    }
}

pub fn config(sizes: Sizes, faults: Vec<String>) -> Config {
    // The service repeats the webhooks of killed and suspended workers soon.
    let retry_after = [200, 500, 1000, 2000, 5000].map(Duration::from_millis).into();
    let timeout = Duration::from_secs(2);
    Config {
        ready_after: Duration::from_millis(50),
        // Many jobs take longer than ten minutes, and a webhook that a killed worker acknowledged
        // is passed on only at the end.
        delivery_lifetime: Duration::from_secs(3600),
        webhooks: WebhookSettings { retry_after, timeout, ..WebhookSettings::default() },
        faults,
        seed: Some(sizes.seed.into()),
        ..Config::default()
    }
}
