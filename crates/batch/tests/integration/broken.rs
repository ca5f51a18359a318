//! A ledger that fails, by SQLite's own means, while responses to submissions are under way.

use std::{collections::HashSet, time::Duration};

use imagekiln::{Client, types::Gen2Pro};
use imagekiln_batch::{Batch, Error, Job, JobState, Ledger, fuzzing};
use imagekiln_simulator::{Config, Simulator};
use imagekiln_testbed::Trial;
use tempfile::TempDir;
use tokio::time;

use crate::support::{all, sqlite};

pub fn tests() -> Vec<Trial> {
    vec![
        sqlite(every_accepted_task_is_in_the_ledger_or_in_the_error),
        sqlite(the_tasks_of_a_dropped_run_are_in_the_error_of_the_next_one),
    ]
}

/// The database cannot grow, or cannot be written at all.
const FAILURES: [&str; 2] = ["max_page_count = 1", "query_only = TRUE"];

const JOBS: u64 = 24;

struct Fixture {
    simulator: Simulator,
    directory: TempDir,
    ledger: Ledger,
    batch: Batch,
}

impl Fixture {
    /// A batch whose responses arrive only when [`fail_when_accepted`] starts the service's clock.
    async fn new() -> Self {
        let faults = vec!["slow-headers@submission=1:always".to_owned()];
        let simulator = Simulator::start(Config { faults, ..Config::default() }).await.unwrap();
        simulator.clock().set_speed(0.0);
        let directory = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(directory.path().join("ledger.db")).await.unwrap();
        let batch = batch(&simulator, &directory, &ledger);
        Self { simulator, directory, ledger, batch }
    }

    /// Every task that was charged is in the ledger or in the error. The next process has all of
    /// them in the ledger, and saves their pictures.
    async fn compare(self, error: &Error) {
        let tasks: HashSet<_> = error.tasks().iter().map(|task| task.id().to_owned()).collect();
        assert_eq!(tasks.len(), error.tasks().len(), "each task occurs once");
        assert!(tasks.len() > 1 && error.may_have_been_billed(), "{tasks:?} {error}");
        drop((self.ledger, self.batch));
        let path = self.directory.path().join("ledger.db");
        let before = recorded(&Ledger::open_read_only(&path).await.unwrap()).await;
        assert!(before.is_disjoint(&tasks));
        let charged: HashSet<_> = self.simulator.tasks().into_iter().map(|task| task.id).collect();
        assert_eq!((charged.len() as u64, &(&before | &tasks)), (JOBS, &charged));
        let ledger = Ledger::open(path).await.unwrap();
        assert_eq!(recorded(&ledger).await, charged);
        let mut batch = batch(&self.simulator, &self.directory, &ledger);
        assert_eq!(batch.run().await.unwrap().count(JobState::Saved), JOBS);
        assert_eq!(self.simulator.counts().accepted, JOBS);
    }
}

/// The ids of the tasks that a ledger contains.
async fn recorded(ledger: &Ledger) -> HashSet<String> {
    all(ledger).await.into_iter().filter_map(|job| job.task_id).collect()
}

fn batch(simulator: &Simulator, directory: &TempDir, ledger: &Ledger) -> Batch {
    let client = Client::builder().api_key(simulator.api_key()).base_url(simulator.base_url());
    let client = client.max_active(JOBS as usize);
    let jobs = (0..JOBS).map(|number| {
        let request = Gen2Pro::new(format!("fox {number}")).width(64).height(64);
        Job::new(number.to_string(), format!("{number}.jpg"), request)
    });
    let batch = Batch::open(client, ledger.clone()).unwrap();
    batch.save_to(directory.path().join("pictures")).jobs(jobs)
}

/// Makes the ledger fail when the service has accepted all jobs, before any response.
async fn fail_when_accepted(simulator: &Simulator, ledger: &Ledger, pragma: &str) {
    while simulator.counts().accepted < JOBS {
        time::sleep(Duration::from_millis(5)).await;
    }
    fuzzing::pragma(ledger, pragma).await.unwrap();
    simulator.clock().advance(Duration::from_secs(1));
    simulator.clock().set_speed(1.0);
}

async fn every_accepted_task_is_in_the_ledger_or_in_the_error() {
    for pragma in FAILURES {
        let mut fixture = Fixture::new().await;
        let failing = fail_when_accepted(&fixture.simulator, &fixture.ledger, pragma);
        let (ended, ()) = tokio::join!(fixture.batch.run(), failing);
        fixture.compare(&ended.unwrap_err()).await;
    }
}

async fn the_tasks_of_a_dropped_run_are_in_the_error_of_the_next_one() {
    for pragma in FAILURES {
        let mut fixture = Fixture::new().await;
        tokio::select! {
            () = fail_when_accepted(&fixture.simulator, &fixture.ledger, pragma) => {}
            ended = fixture.batch.run() => panic!("the run was not interrupted: {ended:?}"),
        }
        let error = fixture.batch.run().await.unwrap_err();
        fixture.compare(&error).await;
    }
}
