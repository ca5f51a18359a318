//! A ledger that fails, by SQLite's own means, while responses to submissions are under way.

use std::{collections::HashSet, time::Duration};

use imagekiln_batch::{Batch, Error, ErrorKind, JobState, Ledger, fuzzing};
use imagekiln_simulator::Config;
use imagekiln_testbed::Trial;
use tokio::time;

use crate::support::{Backend, Fixture, all, jobs, sqlite};

pub fn tests() -> Vec<Vec<Trial>> {
    vec![
        sqlite(every_accepted_task_is_in_the_ledger_or_in_the_error),
        sqlite(the_tasks_of_a_dropped_run_are_in_the_error_of_the_next_one),
    ]
}

/// The database cannot grow, or cannot be written at all.
const FAILURES: [&str; 2] = ["max_page_count = 1", "query_only = TRUE"];

const JOBS: usize = 24;

/// A batch whose responses arrive only when [`fail_when_accepted`] starts the service's clock.
async fn with_slow_responses() -> (Fixture, Ledger, Batch) {
    let faults = vec!["slow-headers@submission=1:always".to_owned()];
    let fixture = Fixture::with(Backend::Sqlite, Config { faults, ..Config::default() }).await;
    fixture.simulator.clock().set_speed(0.0);
    let ledger = fixture.ledger().await;
    let batch = batch(&fixture, &ledger);
    (fixture, ledger, batch)
}

fn batch(fixture: &Fixture, ledger: &Ledger) -> Batch {
    let client = fixture.client().max_active(JOBS);
    fixture.batch_of(client, ledger).jobs(jobs(JOBS))
}

/// Every task that was charged is in the ledger or in the error. The next process has all of them
/// in the ledger, and saves their pictures.
async fn compare(fixture: &Fixture, error: &Error) {
    let tasks: HashSet<_> = error.tasks().iter().map(|task| task.id().to_owned()).collect();
    assert_eq!(tasks.len(), error.tasks().len(), "each task occurs once");
    assert!(tasks.len() > 1 && error.may_have_been_billed(), "{tasks:?} {error}");
    let before = recorded(&Ledger::open_read_only(fixture.ledger_name()).await.unwrap()).await;
    assert!(before.is_disjoint(&tasks));
    let charged: HashSet<_> = fixture.simulator.tasks().into_iter().map(|task| task.id).collect();
    assert_eq!((charged.len(), &(&before | &tasks)), (JOBS, &charged));
    let ledger = Ledger::open(fixture.ledger_name()).await.unwrap();
    assert_eq!(recorded(&ledger).await, charged);
    let saved = batch(fixture, &ledger).run().await.unwrap().count(JobState::Saved);
    assert_eq!((saved, fixture.accepted()), (JOBS as u64, JOBS as u64));
}

/// The ids of the tasks that a ledger contains.
async fn recorded(ledger: &Ledger) -> HashSet<String> {
    all(ledger).await.into_iter().filter_map(|job| job.task_id).collect()
}

/// Makes the ledger fail when the service has accepted all jobs, before any response.
async fn fail_when_accepted(fixture: &Fixture, ledger: &Ledger, pragma: &str) {
    while fixture.accepted() < JOBS as u64 {
        time::sleep(Duration::from_millis(5)).await;
    }
    fuzzing::pragma(ledger, pragma).await.unwrap();
    fixture.simulator.clock().advance(Duration::from_secs(1));
    fixture.simulator.clock().set_speed(1.0);
}

async fn every_accepted_task_is_in_the_ledger_or_in_the_error() {
    for pragma in FAILURES {
        let (fixture, ledger, mut batch) = with_slow_responses().await;
        let failing = fail_when_accepted(&fixture, &ledger, pragma);
        let (ended, ()) = tokio::join!(batch.run(), failing);
        drop((ledger, batch));
        compare(&fixture, &ended.unwrap_err()).await;
    }
}

async fn the_tasks_of_a_dropped_run_are_in_the_error_of_the_next_one() {
    let nexts = ["run", "run without its output", "dispatcher"];
    for (pragma, next) in FAILURES.iter().flat_map(|pragma| nexts.map(|next| (pragma, next))) {
        let (fixture, ledger, mut batch) = with_slow_responses().await;
        if next == "run without its output" {
            // A run without jobs of its own opens the output first.
            ledger.jobs().add(jobs(JOBS)).await.unwrap();
            batch = fixture.batch_of(fixture.client().max_active(JOBS), &ledger);
        }
        tokio::select! {
            () = fail_when_accepted(&fixture, &ledger, pragma) => {}
            ended = batch.run() => panic!("the run was not interrupted: {ended:?}"),
        }
        let error = if next == "dispatcher" {
            batch.dispatcher().await.map(drop).unwrap_err()
        } else {
            if next == "run without its output" {
                batch = batch.save_to(fixture.ledger_name());
            }
            let error = batch.run().await.unwrap_err();
            assert_eq!(error.kind() == ErrorKind::File, next == "run without its output");
            drop(batch);
            error
        };
        drop(ledger);
        compare(&fixture, &error).await;
    }
}
