//! "Restoring without paying twice" of `docs/operations.md`, followed step by step: the ledger is
//! backed up while a worker runs, loses what killed workers have paid for since, and is restored.

use std::fs;

use imagekiln_batch::{JobState, Ledger};
use rusqlite::Connection;

use super::{
    child::{jobs, with_acceptance_log},
    scenario::Scenario,
};
use crate::support::{Backend, all};

/// Every fourth response is lost. No other fault ends a job, so that each task has a job that must
/// not be queued.
const FAULTS: [&str; 3] = ["reply-lost:0.25", "slow-headers@submission=0.1:0.5", "truncated:0.1"];

pub async fn a_restored_ledger_pays_for_nothing_twice(backend: Backend) {
    let mut scenario = Scenario::new(backend, FAULTS.map(str::to_owned).into()).await;
    let fifth = scenario.sizes.jobs / 5;
    let mut child = scenario.start();
    scenario.reach(fifth, [&mut child]).await;
    let backup = back_up(&scenario);
    for kill in 2..=4 {
        scenario.reach(kill * fifth, [&mut child]).await;
        scenario.kill(child);
        child = scenario.start();
    }
    scenario.kill(child);
    restore(&mut scenario, backup);

    let ledger = open(&scenario).await;
    let batch = scenario.fixture.batch(&ledger).jobs(jobs(scenario.sizes.jobs));
    // The run fails if the ledger has lost submissions, which depends on the moment of the backup.
    let _ = batch.budget(0.0).run().await;
    drop(ledger);
    let ledger = open(&scenario).await;
    ledger.adopt_output(scenario.fixture.output()).await.unwrap();
    let billed = scenario.fixture.billed();
    for job in all(&ledger).await {
        let is_known = job.state != JobState::Queued || !billed.contains_key(&job.name);
        assert!(is_known, "the next run would pay again for {job:?}");
    }
    drop(ledger);
    scenario.settle().await;
    scenario.compare(&format!("restored {backend}")).await;
}

/// Opens the ledger like the workers, with their acceptance log.
async fn open(scenario: &Scenario) -> Ledger {
    let ledger = scenario.fixture.ledger().await;
    if scenario.fixture.ledger_name().starts_with("postgres://") {
        return with_acceptance_log(ledger, &scenario.fixture.output()).await;
    }
    ledger
}

/// Returns the content of the backup.
fn back_up(scenario: &Scenario) -> Vec<u8> {
    let name = scenario.fixture.ledger_name();
    if name.starts_with("postgres://") {
        return scenario.fixture.dump();
    }
    let copy = scenario.fixture.directory.path().join("backup.db");
    let copied = Connection::open(name).unwrap().execute("VACUUM INTO ?", [copy.to_str()]);
    copied.unwrap();
    fs::read(copy).unwrap()
}

fn restore(scenario: &mut Scenario, backup: Vec<u8>) {
    scenario.is_restored = true;
    let name = scenario.fixture.ledger_name();
    if name.starts_with("postgres://") {
        return scenario.fixture.restore(backup);
    }
    for end in ["-wal", "-shm"] {
        let _ = fs::remove_file(format!("{name}{end}"));
    }
    fs::write(name, backup).unwrap();
}
