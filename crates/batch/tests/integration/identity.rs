//! Ledgers that may not know everything that was paid for.

use std::fs;

use imagekiln_batch::{Error, ErrorKind, JobState};
use imagekiln_testbed::Trial;

use crate::support::{Backend, Fixture, MARKER, both, closed, job, jobs, open, sqlite, state};

pub fn tests() -> Vec<Vec<Trial>> {
    vec![
        sqlite(a_copied_ledger_pays_for_nothing),
        sqlite(a_renamed_ledger_is_the_same),
        sqlite(a_ledger_that_lost_submissions_pays_for_nothing),
        both(a_new_ledger_pays_for_nothing_at_a_marked_output),
        both(a_person_can_pay_again),
        both(paid_jobs_are_continued_at_a_foreign_output),
        both(changed_pictures_are_not_adopted),
        both(nothing_is_sent_if_the_marker_cannot_be_written),
    ]
}

#[track_caller]
fn assert_foreign(error: Error, part: &str) {
    assert_eq!(error.kind(), ErrorKind::Foreign, "{error}");
    assert!(error.to_string().contains(part), "{error}");
}

async fn a_new_ledger_pays_for_nothing_at_a_marked_output(backend: Backend) {
    let fixture = Fixture::new(backend).await;
    let first = fixture.ledger().await;
    fixture.batch(&first).jobs(jobs(3)).run().await.unwrap();
    let second = fixture.new_ledger().await;
    let mut batch = fixture.batch(&second).jobs(jobs(4));
    assert_foreign(batch.run().await.unwrap_err(), "another one has");
    assert_eq!(
        (second.reports().jobs().await.unwrap().count(JobState::Queued), fixture.accepted()),
        (4, 3)
    );
    let adopted = second.adopt_output(fixture.output()).await.unwrap();
    assert_eq!(adopted.len(), 3);
    for job in adopted {
        let before = first.jobs().get(&job.name).await.unwrap().unwrap();
        assert_eq!((job.state, &job.location), (JobState::Saved, &before.location));
        assert_eq!((job.task_id, job.credits), (before.task_id, before.credits));
    }
    // Both go on.
    assert_eq!(batch.run().await.unwrap().count(JobState::Saved), 4);
    let report = fixture.batch(&first).jobs([job("wolf", "a wolf")]).run().await.unwrap();
    assert_eq!((report.count(JobState::Saved), fixture.accepted()), (4, 5));
    assert!(second.adopt_output(fixture.output()).await.unwrap().is_empty());
}

async fn a_person_can_pay_again(backend: Backend) {
    let fixture = Fixture::new(backend).await;
    fixture.batch(&fixture.ledger().await).jobs(jobs(1)).run().await.unwrap();
    let second = fixture.new_ledger().await;
    let mut batch = fixture.batch(&second).jobs([job("wolf", "a wolf")]).pay_again();
    assert_eq!(batch.run().await.unwrap().count(JobState::Saved), 1);
    let mut batch = batch.jobs([job("owl", "an owl")]);
    assert_eq!(batch.run().await.unwrap().count(JobState::Saved), 2);
    assert_eq!(fixture.accepted(), 3);
}

async fn paid_jobs_are_continued_at_a_foreign_output(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    fixture.simulator.faults().add("spurious-not-found@poll:always").unwrap();
    fixture.batch(&ledger).jobs([job("paid", "a fox")]).run().await.unwrap();
    fixture.simulator.faults().clear();
    assert_eq!(state(&ledger, "paid").await, JobState::Submitted);
    let marker = r#"{"version":1,"ledgers":[{"id":"another","submissions":7}]}"#;
    fs::write(fixture.output().join(MARKER), marker).unwrap();
    let mut batch = fixture.batch(&ledger).jobs([job("new", "a wolf")]);
    assert_foreign(batch.run().await.unwrap_err(), "another one has");
    assert_eq!(state(&ledger, "paid").await, JobState::Saved);
    assert_eq!((state(&ledger, "new").await, fixture.accepted()), (JobState::Queued, 1));
    fs::write(fixture.output().join(MARKER), "{").unwrap();
    assert_foreign(batch.run().await.unwrap_err(), MARKER);
}

async fn nothing_is_sent_if_the_marker_cannot_be_written(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let marker = fixture.output().join(MARKER);
    fs::create_dir_all(&marker).unwrap();
    let mut batch = fixture.batch(&ledger).jobs(jobs(2));
    let error = batch.run().await.unwrap_err();
    let cause = error.client_error().and_then(std::error::Error::source).unwrap().to_string();
    assert!(cause.contains(MARKER) && !error.may_have_been_billed(), "{cause}");
    assert_eq!(
        (ledger.reports().jobs().await.unwrap().count(JobState::Queued), fixture.accepted()),
        (2, 0)
    );
    fs::remove_dir(marker).unwrap();
    assert_eq!(batch.run().await.unwrap().count(JobState::Saved), 2);
}

async fn changed_pictures_are_not_adopted(backend: Backend) {
    let fixture = Fixture::new(backend).await;
    fixture.batch(&fixture.ledger().await).jobs(jobs(2)).run().await.unwrap();
    fs::write(fixture.output().join("0.jpg"), "mine").unwrap();
    fs::write(fixture.output().join("notes.json"), "[]").unwrap();
    let second = fixture.new_ledger().await;
    // Another request with the same name.
    second.jobs().add([job("0", "fox 0"), job("1", "another fox")]).await.unwrap();
    assert!(second.adopt_output(fixture.output()).await.unwrap().is_empty());
    assert_eq!(second.reports().jobs().await.unwrap().count(JobState::Queued), 2);
}

async fn a_copied_ledger_pays_for_nothing() {
    let (fixture, ledger) = Fixture::with_ledger(Backend::Sqlite).await;
    fixture.batch(&ledger).jobs(jobs(1)).run().await.unwrap();
    ledger.jobs().add(jobs(2)).await.unwrap();
    let copy = fixture.directory.path().join("copy.db");
    fs::copy(closed(&fixture, ledger).await, &copy).unwrap();
    // The output was copied, too.
    let elsewhere = fixture.directory.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    for name in ["0.jpg", "0.jpg.json", MARKER] {
        fs::copy(fixture.output().join(name), elsewhere.join(name)).unwrap();
    }
    let copied = open(copy.to_str().unwrap()).await;
    let mut batch = fixture.batch(&copied).save_to(&elsewhere);
    assert_foreign(batch.run().await.unwrap_err(), "was copied or moved");
    let report = fixture.batch(&fixture.ledger().await).run().await.unwrap();
    assert_eq!((report.count(JobState::Saved), fixture.accepted()), (2, 2));
    assert_foreign(batch.run().await.unwrap_err(), "was copied or moved");
    copied.adopt_output(&elsewhere).await.unwrap();
    assert_eq!(batch.run().await.unwrap().count(JobState::Saved), 2);
}

async fn a_renamed_ledger_is_the_same() {
    let (fixture, ledger) = Fixture::with_ledger(Backend::Sqlite).await;
    fixture.batch(&ledger).jobs(jobs(1)).run().await.unwrap();
    let renamed = fixture.directory.path().join("renamed.db");
    fs::rename(closed(&fixture, ledger).await, &renamed).unwrap();
    let ledger = open(renamed.to_str().unwrap()).await;
    let report = fixture.batch(&ledger).jobs(jobs(2)).run().await.unwrap();
    assert_eq!(report.count(JobState::Saved), 2);
}

async fn a_ledger_that_lost_submissions_pays_for_nothing() {
    let (fixture, ledger) = Fixture::with_ledger(Backend::Sqlite).await;
    fixture.batch(&ledger).jobs(jobs(2)).run().await.unwrap();
    let file = closed(&fixture, ledger).await;
    let backup = fs::read(&file).unwrap();
    let ledger = fixture.ledger().await;
    fixture.batch(&ledger).jobs(jobs(3)).run().await.unwrap();
    // The same file with its earlier content.
    closed(&fixture, ledger).await;
    fs::write(&file, backup).unwrap();
    let ledger = fixture.ledger().await;
    let mut batch = fixture.batch(&ledger).jobs(jobs(4));
    assert_foreign(batch.run().await.unwrap_err(), "contains 2, and the marker");
    assert_eq!(fixture.accepted(), 3);
    assert_eq!(ledger.adopt_output(fixture.output()).await.unwrap().len(), 1);
    assert_eq!(batch.run().await.unwrap().count(JobState::Saved), 4);
    assert_eq!(fixture.accepted(), 4);
}
