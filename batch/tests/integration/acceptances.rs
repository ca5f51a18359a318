//! The acceptance log of a ledger.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use imagekiln::journal::{Directory, Journal as _, Listed, Step};
use imagekiln_batch::{ErrorKind, JobState, Ledger, Resolution};
use imagekiln_testbed::{
    Runtime, Trial, name_of,
    postgres::{POSTGRES, cluster},
    test,
};

use crate::support::{Backend, Fixture, MARKER, closed, job, jobs, open, sqlite, state};

pub fn tests() -> Vec<Trial> {
    let postgres = test(
        name_of(&a_server_that_lost_submissions_pays_for_nothing),
        &[POSTGRES],
        Runtime::CurrentThread,
        async || a_server_that_lost_submissions_pays_for_nothing().await,
    );
    vec![
        sqlite(an_ordinary_run_leaves_no_open_record),
        sqlite(what_only_the_log_knows_to_be_unbilled_is_queued_again),
        sqlite(what_a_removed_write_ahead_log_contained_is_named),
        sqlite(what_a_person_found_is_named_if_the_ledger_loses_it),
        sqlite(a_job_that_was_submitted_again_continues_if_the_ledger_loses_it),
        sqlite(a_person_can_pay_again_for_what_was_lost),
        postgres,
    ]
}

fn log_of(fixture: &Fixture) -> PathBuf {
    PathBuf::from(format!("{}.acceptances", fixture.ledger_name()))
}

fn records(log: &Path) -> Vec<Listed> {
    Directory::list(log).unwrap()
}

async fn an_ordinary_run_leaves_no_open_record() {
    let fixture = Fixture::new(Backend::Sqlite).await;
    let ledger = fixture.ledger().await;
    let mut batch = fixture.batch(&ledger).jobs(jobs(4));
    batch.run().await.unwrap();
    let records = records(&log_of(&fixture));
    assert_eq!(records.len(), 4);
    assert!(records.iter().all(|listed| listed.record.state().is_closed()), "{records:?}");
    // A lost response is in the ledger, so the log need not keep it.
    batch.jobs([job("lost", "a [[reply-lost]] fox")]).run().await.unwrap();
    let ledger = fixture.reopen(ledger).await;
    assert_eq!(state(&ledger, "lost").await, JobState::Unknown);
    let records = self::records(&log_of(&fixture));
    assert!(records.iter().all(|listed| listed.record.state().is_closed()), "{records:?}");
}

async fn what_only_the_log_knows_to_be_unbilled_is_queued_again() {
    let fixture = Fixture::new(Backend::Sqlite).await;
    let ledger = fixture.ledger().await;
    fixture.simulator.faults().add("reply-lost:once").unwrap();
    fixture.batch(&ledger).jobs(jobs(1)).run().await.unwrap();
    assert_eq!(state(&ledger, "0").await, JobState::Unknown);
    closed(&fixture, ledger).await;
    let log = Directory::open_keeping(log_of(&fixture), 10).unwrap();
    let [lost] = log.open_records().await.unwrap().try_into().unwrap();
    log.advance(lost.intent().id(), &Step::NotBilled).await.unwrap();
    drop(log);
    let ledger = fixture.ledger().await;
    assert_eq!(state(&ledger, "0").await, JobState::Queued);
}

/// A ledger whose write-ahead log was removed, and which has lost three jobs and one of
/// their pictures.
async fn without_write_ahead_log(fixture: &Fixture) -> Ledger {
    // The file contains the tables.
    closed(fixture, fixture.ledger().await).await;
    let ledger = fixture.ledger().await;
    fixture.batch(&ledger).jobs(jobs(3)).run().await.unwrap();
    let file = fs::read(fixture.ledger_name()).unwrap();
    fs::write(closed(fixture, ledger).await, file).unwrap();
    fs::remove_file(fixture.output().join("1.jpg")).unwrap();
    // The log knows it without the marker.
    fs::remove_file(fixture.output().join(MARKER)).unwrap();
    fixture.ledger().await
}

async fn what_a_removed_write_ahead_log_contained_is_named() {
    let fixture = Fixture::new(Backend::Sqlite).await;
    let ledger = without_write_ahead_log(&fixture).await;
    // One of the jobs has the same name and another request.
    let mut new = jobs(4);
    new[2] = job("2", "another fox");
    let mut batch = fixture.batch(&ledger).jobs(new);
    let error = batch.run().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Foreign, "{error}");
    let named: HashSet<_> = error.tasks().iter().map(|task| task.id().to_owned()).collect();
    let charged: HashSet<_> = fixture.simulator.tasks().into_iter().map(|task| task.id).collect();
    assert_eq!((named, fixture.accepted()), (charged, 3));

    let adopted = ledger.adopt_output(fixture.output()).await.unwrap();
    let states: Vec<_> = adopted.iter().map(|job| (&*job.name, job.state)).collect();
    assert_eq!(states, [("0", JobState::Saved), ("1", JobState::Submitted)]);
    fs::rename(fixture.output().join("2.jpg"), fixture.output().join("other.jpg")).unwrap();
    assert_eq!(batch.run().await.unwrap().count(JobState::Saved), 4);
    assert_eq!(fixture.accepted(), 5);
}

async fn what_a_person_found_is_named_if_the_ledger_loses_it() {
    let fixture = Fixture::new(Backend::Sqlite).await;
    closed(&fixture, fixture.ledger().await).await;
    let file = fs::read(fixture.ledger_name()).unwrap();
    let ledger = fixture.ledger().await;
    let mut batch = fixture.batch(&ledger).jobs([job("fox", "a [[reply-lost]] fox")]);
    batch.run().await.unwrap();
    let task = fixture.simulator.tasks()[0].id.clone();
    batch.resolve_with_task("fox", &task).await.unwrap();
    drop(batch);
    fs::write(closed(&fixture, ledger).await, file).unwrap();

    let ledger = fixture.ledger().await;
    let mut batch = fixture.batch(&ledger).jobs([job("fox", "a [[reply-lost]] fox")]);
    let error = batch.run().await.unwrap_err();
    assert_eq!((error.kind(), error.tasks()[0].id()), (ErrorKind::Foreign, &*task), "{error}");
    let adopted = ledger.adopt_output(fixture.output()).await.unwrap();
    assert_eq!((&*adopted[0].name, adopted[0].state), ("fox", JobState::Submitted));
    assert_eq!(batch.run().await.unwrap().count(JobState::Saved), 1);
    assert_eq!(fixture.accepted(), 1);
}

async fn a_job_that_was_submitted_again_continues_if_the_ledger_loses_it() {
    let fixture = Fixture::new(Backend::Sqlite).await;
    let ledger = fixture.ledger().await;
    fixture.simulator.faults().add("reset@submission:once").unwrap();
    fixture.batch(&ledger).jobs(jobs(1)).run().await.unwrap();
    assert_eq!(state(&ledger, "0").await, JobState::Unknown);
    let path = closed(&fixture, ledger).await;
    let file = fs::read(&path).unwrap();
    let ledger = fixture.ledger().await;
    ledger.resolve("0", Resolution::NotPaid).await.unwrap();
    fixture.batch(&ledger).run().await.unwrap();
    fs::write(closed(&fixture, ledger).await, file).unwrap();
    fs::remove_file(fixture.output().join("0.jpg")).unwrap();

    let ledger = fixture.ledger().await;
    assert_eq!(state(&ledger, "0").await, JobState::Unknown);
    let adopted = ledger.adopt_output(fixture.output()).await.unwrap();
    assert_eq!((&*adopted[0].name, adopted[0].state), ("0", JobState::Submitted));
    assert_eq!(fixture.batch(&ledger).run().await.unwrap().count(JobState::Saved), 1);
    assert_eq!(fixture.accepted(), 1);
}

async fn a_person_can_pay_again_for_what_was_lost() {
    let fixture = Fixture::new(Backend::Sqlite).await;
    let ledger = without_write_ahead_log(&fixture).await;
    fs::remove_dir_all(fixture.output()).unwrap();
    let mut batch = fixture.batch(&ledger).jobs(jobs(3));
    batch.run().await.unwrap_err();
    let mut batch = batch.pay_again();
    assert_eq!(batch.run().await.unwrap().count(JobState::Saved), 3);
    assert_eq!(batch.run().await.unwrap().count(JobState::Saved), 3);
    assert_eq!(fixture.accepted(), 6);
}

async fn a_server_that_lost_submissions_pays_for_nothing() {
    let fixture = Fixture::new(Backend::Postgres).await;
    let log = fixture.directory.path().join("acceptances");
    let with_log = async || fixture.ledger().await.with_acceptance_log(&log).await.unwrap();
    let ledger = with_log().await;
    fixture.batch(&ledger).jobs(jobs(2)).run().await.unwrap();
    fixture
        .execute(
            "UPDATE imagekiln.jobs SET state = 'queued', worker = NULL, submission = NULL,
             location = NULL",
        )
        .await;
    fixture.execute("DELETE FROM imagekiln.submissions").await;
    fs::remove_file(fixture.output().join("0.jpg")).unwrap();
    // Another ledger can use the same directory.
    let other = open(&cluster().create_database()).await;
    let other = other.with_acceptance_log(&log).await.unwrap();
    let mut elsewhere = fixture.batch(&other).jobs(jobs(1)).save_to(fixture.directory.path());
    assert_eq!(elsewhere.run().await.unwrap().count(JobState::Saved), 1);

    drop(ledger);
    let ledger = with_log().await;
    let mut batch = fixture.batch(&ledger);
    let error = batch.run().await.unwrap_err();
    assert_eq!((error.kind(), error.tasks().len()), (ErrorKind::Foreign, 2), "{error}");
    let adopted = ledger.adopt_output(fixture.output()).await.unwrap();
    let states: Vec<_> = adopted.iter().map(|job| (&*job.name, job.state)).collect();
    assert_eq!(states, [("1", JobState::Saved), ("0", JobState::Submitted)]);
    assert_eq!(batch.run().await.unwrap().count(JobState::Saved), 2);
    assert_eq!(fixture.accepted(), 3);
    let twice = ledger.with_acceptance_log(&log).await.unwrap_err();
    assert_eq!(twice.kind(), ErrorKind::Ledger);
}
