//! The acceptance log of a ledger.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use imagekiln::{
    SubmitOptions,
    journal::{Directory, Journal as _, Listed, State, Step},
    types::Gen2Pro,
};
use imagekiln_batch::{ErrorKind, JobState, Ledger, Resolution};
use imagekiln_testbed::{Trial, postgres::cluster};
use serde_json::json;

use crate::support::{
    Backend, Fixture, MARKER, PRICE, all, assert_equal, closed, job, jobs, named, open, postgres,
    sqlite, state,
};

pub fn tests() -> Vec<Vec<Trial>> {
    vec![
        sqlite(an_ordinary_run_leaves_no_open_record),
        sqlite(what_only_the_log_has_was_not_sent_unless_it_says_so),
        sqlite(a_lost_response_is_unknown_if_the_ledger_loses_it),
        sqlite(a_lost_job_that_is_added_after_the_output_was_adopted_is_unknown),
        sqlite(paid_jobs_that_are_added_after_the_output_was_adopted_continue),
        sqlite(what_only_the_log_knows_to_be_unbilled_is_queued_again),
        sqlite(what_a_removed_write_ahead_log_contained_is_named),
        sqlite(what_a_person_found_is_named_if_the_ledger_loses_it),
        sqlite(a_job_that_was_submitted_again_continues_if_the_ledger_loses_it),
        sqlite(a_person_can_pay_again_for_what_was_lost),
        sqlite(the_log_has_the_submissions_without_a_job),
        postgres(a_server_that_lost_submissions_pays_for_nothing),
        postgres(a_restored_server_pays_for_nothing_twice),
    ]
}

fn log_of(fixture: &Fixture) -> PathBuf {
    PathBuf::from(format!("{}.acceptances", fixture.ledger_name()))
}

fn records(log: &Path) -> Vec<Listed> {
    Directory::list(log).unwrap().map(Result::unwrap).collect()
}

async fn an_ordinary_run_leaves_no_open_record() {
    let (fixture, ledger) = Fixture::with_ledger(Backend::Sqlite).await;
    let mut batch = fixture.batch(&ledger).jobs(jobs(4));
    batch.run().await.unwrap();
    let records = records(&log_of(&fixture));
    assert_eq!(records.len(), 4);
    assert!(records.iter().all(|listed| listed.record.state().is_closed()), "{records:?}");
    // The log keeps a lost response until somebody decides, in case the ledger loses it.
    batch.jobs([job("lost", "a [[reply-lost]] fox")]).run().await.unwrap();
    let ledger = fixture.reopen(ledger).await;
    assert_eq!(state(&ledger, "lost").await, JobState::Unknown);
    let is_open = |listed: &Listed| !listed.record.state().is_closed();
    let open = || self::records(&log_of(&fixture)).into_iter().filter(is_open).count();
    assert_eq!(open(), 1);
    ledger.jobs().resolve("lost", Resolution::Paid).await.unwrap();
    let ledger = fixture.reopen(ledger).await;
    assert_eq!(open(), 0);
    // The ledger has the submissions of jobs that left it.
    ledger.jobs().forget(&named("lost")).await.unwrap();
    assert_eq!(ledger.jobs().archive(Duration::ZERO).await.unwrap(), 4);
    let ledger = fixture.reopen(ledger).await;
    let report = fixture.batch(&ledger).run().await.unwrap();
    assert_eq!((report.rows.len(), fixture.accepted()), (0, 5));
}

/// A process was killed after it had written the intent to the log, and before it had written it
/// to the ledger.
async fn what_only_the_log_has_was_not_sent_unless_it_says_so() {
    let fixture = Fixture::new(Backend::Sqlite).await;
    closed(&fixture, fixture.ledger().await).await;
    let intend = async |id: &str, is_sent: bool| {
        let intent = json!({"id": id, "operation": "gen-2-pro", "at": 1_795_673_076, "label": id});
        let log = Directory::open(log_of(&fixture)).unwrap();
        log.intend(&serde_json::from_value(intent).unwrap()).await.unwrap();
        if is_sent {
            log.advance(id, &Step::Lost).await.unwrap();
        }
    };
    intend("1", false).await;
    let ledger = fixture.ledger().await;
    let mut batch = fixture.batch(&ledger).jobs(jobs(2));
    assert_eq!(batch.run().await.unwrap().count(JobState::Saved), 2);
    let records = records(&log_of(&fixture));
    assert_eq!(*records.last().unwrap().record.state(), State::NotBilled);
    drop(batch);
    closed(&fixture, ledger).await;

    // The ledger has lost this one.
    intend("2", true).await;
    let ledger = fixture.ledger().await;
    let mut batch = fixture.batch(&ledger);
    let error = batch.run().await.unwrap_err();
    assert_eq!((error.kind(), error.tasks().len()), (ErrorKind::Foreign, 0), "{error}");
    assert!(error.may_have_been_billed());
}

/// A job that may be paid for is not submitted again, even if a person pays again for those whose
/// tasks are known.
async fn a_lost_response_is_unknown_if_the_ledger_loses_it() {
    let fixture = Fixture::new(Backend::Sqlite).await;
    let file = fs::read(closed(&fixture, fixture.ledger().await).await).unwrap();
    let fox = || [job("fox", "a [[reply-lost]] fox"), job("owl", "an owl")];
    let ledger = fixture.ledger().await;
    fixture.batch(&ledger).jobs(fox()).run().await.unwrap();
    // Another run has found the lost response.
    let ledger = fixture.reopen(ledger).await;
    fs::write(closed(&fixture, ledger).await, file).unwrap();
    fs::remove_dir_all(fixture.output()).unwrap();

    let ledger = fixture.ledger().await;
    let mut batch = fixture.batch(&ledger).jobs(fox());
    let error = batch.run().await.unwrap_err();
    assert_eq!((error.kind(), error.tasks().len()), (ErrorKind::Foreign, 1), "{error}");
    let report = batch.pay_again().run().await.unwrap();
    assert_eq!((report.count(JobState::Unknown), report.count(JobState::Saved)), (1, 1));
    assert_eq!((state(&ledger, "fox").await, fixture.accepted()), (JobState::Unknown, 3));
    ledger.jobs().resolve("fox", Resolution::Paid).await.unwrap();
    fixture.batch(&ledger).run().await.unwrap();
    assert_eq!(fixture.accepted(), 3);
}

/// The document adds the jobs first.
async fn a_lost_job_that_is_added_after_the_output_was_adopted_is_unknown() {
    let fixture = Fixture::new(Backend::Sqlite).await;
    let file = fs::read(closed(&fixture, fixture.ledger().await).await).unwrap();
    let fox = || [job("fox", "a [[reply-lost]] fox")];
    let ledger = fixture.ledger().await;
    fixture.batch(&ledger).jobs(fox()).run().await.unwrap();
    fs::write(closed(&fixture, ledger).await, file).unwrap();

    let ledger = fixture.ledger().await;
    ledger.adopt_output(fixture.output()).await.unwrap();
    fixture.batch(&ledger).jobs(fox()).run().await.unwrap();
    assert_eq!((state(&ledger, "fox").await, fixture.accepted()), (JobState::Unknown, 1));
    let task = fixture.simulator.tasks()[0].id.clone();
    let mut batch = fixture.batch(&ledger);
    batch.resolve_with_task("fox", &task).await.unwrap();
    assert_eq!(batch.run().await.unwrap().count(JobState::Saved), 1);
    assert_eq!(fixture.accepted(), 1);
}

async fn paid_jobs_that_are_added_after_the_output_was_adopted_continue() {
    let fixture = Fixture::new(Backend::Sqlite).await;
    let ledger = without_write_ahead_log(&fixture).await;
    assert!(ledger.adopt_output(fixture.output()).await.unwrap().is_empty());
    let mut new = jobs(4);
    new[2] = job("2", "another fox");
    let error = ledger.jobs().add(new).await.unwrap_err();
    assert!(error.to_string().starts_with("`2` is the key of a submission"), "{error}");
    ledger.jobs().add(jobs(4)).await.unwrap();
    let states = async || {
        let jobs = all(&ledger).await;
        jobs.into_iter().map(|job| job.state).collect::<Vec<_>>()
    };
    use JobState::{Queued, Saved, Submitted};
    assert_eq!(states().await, [Submitted, Submitted, Submitted, Queued]);
    // Two of the pictures are still there.
    ledger.adopt_output(fixture.output()).await.unwrap();
    assert_eq!(states().await, [Saved, Submitted, Saved, Queued]);
    assert_eq!(fixture.batch(&ledger).run().await.unwrap().count(Saved), 4);
    assert_eq!(fixture.accepted(), 4);
    assert_equal(ledger.reports().spending().await.unwrap()[0].credits, fixture.charged());
}

async fn what_only_the_log_knows_to_be_unbilled_is_queued_again() {
    let (fixture, ledger) = Fixture::with_ledger(Backend::Sqlite).await;
    fixture.simulator.faults().add("reply-lost:once").unwrap();
    fixture.batch(&ledger).jobs(jobs(1)).run().await.unwrap();
    assert_eq!(state(&ledger, "0").await, JobState::Unknown);
    closed(&fixture, ledger).await;
    let log = Directory::open(log_of(&fixture)).unwrap();
    let [Ok(lost)] = &log.open_records().await.unwrap()[..] else { panic!("not one record") };
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
    let file = fs::read(closed(&fixture, fixture.ledger().await).await).unwrap();
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
    let (fixture, ledger) = Fixture::with_ledger(Backend::Sqlite).await;
    fixture.simulator.faults().add("reset@submission:once").unwrap();
    fixture.batch(&ledger).jobs(jobs(1)).run().await.unwrap();
    assert_eq!(state(&ledger, "0").await, JobState::Unknown);
    let path = closed(&fixture, ledger).await;
    let file = fs::read(&path).unwrap();
    let ledger = fixture.ledger().await;
    ledger.jobs().resolve("0", Resolution::NotPaid).await.unwrap();
    fixture.batch(&ledger).run().await.unwrap();
    fs::write(closed(&fixture, ledger).await, file).unwrap();
    fs::remove_file(fixture.output().join("0.jpg")).unwrap();

    let ledger = fixture.ledger().await;
    // The log has the decision.
    assert_eq!(state(&ledger, "0").await, JobState::Queued);
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

/// Only the acceptance log knows a submission without a job, which has no marker.
async fn the_log_has_the_submissions_without_a_job() {
    let fixture = Fixture::new(Backend::Sqlite).await;
    let backup = fs::read(closed(&fixture, fixture.ledger().await).await).unwrap();
    let ledger = fixture.ledger().await;
    let client = fixture.client().journal(ledger.clone()).build().unwrap();
    let request = Gen2Pro::new("a fox").width(64).height(64);
    let options = SubmitOptions::default().origin("fox");
    let id = client.submit_with(request, options).await.unwrap().id().to_owned();
    drop(client);
    fs::write(closed(&fixture, ledger).await, backup).unwrap();

    let ledger = fixture.ledger().await;
    let client = fixture.client().journal(ledger.clone()).build().unwrap();
    assert!(client.resume().await.unwrap().is_empty());
    let [listed] = records(&log_of(&fixture)).try_into().unwrap();
    let task = client.task(listed.record.task().unwrap().clone());
    assert_eq!(task.id(), id);
    task.wait().await.unwrap().save(fixture.directory.path().join("fox.jpg")).await.unwrap();
    fs::create_dir(fixture.output()).unwrap();
    assert!(ledger.adopt_output(fixture.output()).await.unwrap().is_empty());
    assert_equal(ledger.reports().spending().await.unwrap()[0].credits, fixture.charged());
}

/// Each machine knows the tasks that it has paid for, and adopts them before anything is submitted.
async fn a_restored_server_pays_for_nothing_twice() {
    let fixture = Fixture::new(Backend::Postgres).await;
    let machine = async |name: &str| {
        let log = fixture.directory.path().join(name);
        fixture.ledger().await.with_acceptance_log(log).await.unwrap()
    };
    // Returns the locations of all pictures.
    let run = async |name: &str, jobs: f64| {
        let ledger = machine(name).await;
        let report = fixture.batch(&ledger).budget(jobs * PRICE).run().await.unwrap();
        assert_equal(report.count(JobState::Saved) as f64, jobs);
        let jobs = all(&ledger).await;
        jobs.into_iter().filter_map(|job| job.location).collect::<HashSet<_>>()
    };
    machine("one").await.jobs().add(jobs(7)).await.unwrap();
    let mut known = run("one", 2.0).await;
    let backup = fixture.dump();
    for (name, jobs) in [("one", 4.0), ("other", 6.0)] {
        let pictures = run(name, jobs).await;
        // Paid for by this machine, and not saved.
        fs::remove_file(pictures.difference(&known).next().unwrap()).unwrap();
        known = pictures;
    }
    fixture.restore(backup);

    let mut restored = 0;
    for name in ["one", "other"] {
        let ledger = machine(name).await;
        let error = fixture.batch(&ledger).run().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Foreign, "{error}");
        restored += ledger.adopt_output(fixture.output()).await.unwrap().len();
    }
    assert_eq!((restored, fixture.accepted()), (4, 6));
    run("one", 7.0).await;
    assert_eq!(fixture.accepted(), 7);
}
