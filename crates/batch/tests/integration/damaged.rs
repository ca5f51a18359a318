//! Jobs whose delivery stays damaged.

use std::{fs, path::Path, time::Duration};

use imagekiln_batch::{ErrorKind, JobState, Ledger, Resolution};
use imagekiln_testbed::Trial;

use crate::support::{Backend, Fixture, PRICE, assert_equal, both, chain, job, jobs, named, state};

pub fn tests() -> Vec<Vec<Trial>> {
    vec![
        both(the_other_jobs_continue),
        both(a_run_stops_after_several_damaged_pictures_in_a_row),
        both(a_damaged_picture_is_downloaded_again),
        both(a_damaged_picture_that_expired_can_be_paid_for_again),
        both(a_damaged_file_is_accepted),
        both(a_damaged_picture_is_given_up),
    ]
}

const DAMAGED: &str = "a fox [[damaged:always]]";

/// A ledger with a damaged job, and the path of its file.
async fn damaged(fixture: &Fixture, prompt: &str) -> (Ledger, String) {
    let ledger = fixture.ledger().await;
    let report = fixture.batch(&ledger).jobs([job("fox", prompt)]).run().await.unwrap();
    assert_eq!(report.count(JobState::Damaged), 1);
    let status = ledger.jobs().get("fox").await.unwrap().unwrap();
    (ledger, status.location.unwrap())
}

async fn the_other_jobs_continue(backend: Backend) {
    for fault in ["damaged", "truncated", "html", "wrong-kind=text"] {
        let (fixture, ledger) = Fixture::with_ledger(backend).await;
        let one = job("fox", &format!("a fox [[{fault}:always]]"));
        let mut batch = fixture.batch(&ledger).max_active(2).jobs([one]).jobs(jobs(7));

        let report = batch.run().await.unwrap();

        assert_eq!((report.count(JobState::Damaged), report.count(JobState::Saved)), (1, 7));
        let status = ledger.jobs().get("fox").await.unwrap().unwrap();
        assert!(status.reason.unwrap().contains("could not fetch the picture"));
        assert_equal(status.credits.unwrap(), PRICE);
        assert!(status.task_id.is_some());
        let kept = status.location.unwrap();
        assert!(kept.ends_with(".damaged") && fs::metadata(&kept).unwrap().len() > 0, "{kept}");

        // The next run leaves it to a person.
        let downloads = fixture.simulator.counts().faults.values().sum::<u64>();
        fixture.batch(&ledger).run().await.unwrap();
        assert_eq!(fixture.simulator.counts().faults.values().sum::<u64>(), downloads);
        assert_eq!(fixture.accepted(), 8);
    }
}

async fn a_run_stops_after_several_damaged_pictures_in_a_row(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    fixture.simulator.faults().add("damaged").unwrap();

    let error = fixture.batch(&ledger).max_active(1).jobs(jobs(9)).run().await.unwrap_err();

    assert_eq!(error.kind(), ErrorKind::Client);
    assert!(chain(&error).contains("is truncated"), "{}", chain(&error));
    let report = ledger.reports().jobs().await.unwrap();
    assert_eq!((report.count(JobState::Damaged), report.count(JobState::Queued)), (5, 4));
}

async fn a_damaged_picture_is_downloaded_again(backend: Backend) {
    let fixture = Fixture::new(backend).await;
    fixture.simulator.faults().add("damaged:8x").unwrap();
    let (ledger, kept) = damaged(&fixture, "a fox").await;

    assert_eq!(ledger.jobs().retry(&named("fox"), None).await.unwrap(), 1);
    let status = ledger.jobs().get("fox").await.unwrap().unwrap();
    assert_eq!((status.state, status.location), (JobState::Submitted, None));
    let report = fixture.batch(&ledger).run().await.unwrap();

    assert_eq!((report.count(JobState::Saved), fixture.accepted()), (1, 1));
    // It is another file, which a person may still want.
    assert!(Path::new(&kept).exists());
}

async fn a_damaged_picture_that_expired_can_be_paid_for_again(backend: Backend) {
    let fixture = Fixture::new(backend).await;
    fixture.simulator.faults().add("damaged:8x").unwrap();
    let (ledger, _) = damaged(&fixture, "a fox").await;
    fixture.simulator.clock().advance(Duration::from_secs(601));
    fixture.simulator.faults().add("early-expiry").unwrap();

    ledger.jobs().retry(&named("fox"), None).await.unwrap();
    fixture.batch(&ledger).run().await.unwrap();
    assert_eq!(state(&ledger, "fox").await, JobState::Expired);

    fixture.simulator.faults().clear();
    ledger.jobs().retry(&named("fox"), None).await.unwrap();
    let report = fixture.batch(&ledger).run().await.unwrap();
    assert_eq!((report.count(JobState::Saved), fixture.accepted()), (1, 2));
}

async fn a_damaged_file_is_accepted(backend: Backend) {
    let fixture = Fixture::new(backend).await;
    let (ledger, kept) = damaged(&fixture, DAMAGED).await;
    let (bytes, picture) = (fs::read(&kept).unwrap(), kept.strip_suffix(".damaged").unwrap());

    fs::write(picture, "another file").unwrap();
    let error = ledger.jobs().resolve("fox", Resolution::Damaged).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::File);
    assert!(error.to_string().contains("is another file"), "{error}");
    assert_eq!(fs::read(picture).unwrap(), b"another file");
    fs::remove_file(picture).unwrap();

    let status = ledger.jobs().resolve("fox", Resolution::Damaged).await.unwrap();
    assert_eq!((status.state, status.reason), (JobState::Saved, None));
    assert_eq!(status.location.as_deref(), Some(picture));
    assert_eq!(fs::read(picture).unwrap(), bytes);
    assert!(!Path::new(&kept).exists() && Path::new(&format!("{picture}.json")).exists());
    let error = ledger.jobs().resolve("fox", Resolution::Damaged).await.unwrap_err();
    assert_eq!(error.to_string(), "job `fox` is saved, not damaged; nothing was changed");
    // Nothing is left to continue.
    let report = fixture.batch(&ledger).run().await.unwrap();
    assert_eq!((report.count(JobState::Saved), fixture.accepted()), (1, 1));
}

async fn a_damaged_picture_is_given_up(backend: Backend) {
    let fixture = Fixture::new(backend).await;
    let (ledger, kept) = damaged(&fixture, DAMAGED).await;
    let error = ledger.jobs().resolve("fox", Resolution::NotPaid).await.unwrap_err();
    assert_eq!(error.to_string(), "job `fox` is damaged, not unknown; nothing was changed");
    assert_eq!(ledger.jobs().archive(Duration::ZERO).await.unwrap(), 0);

    let status = ledger.jobs().resolve("fox", Resolution::Paid).await.unwrap();
    assert_eq!(status.state, JobState::Failed);
    assert_eq!(status.reason.as_deref(), Some("the picture was damaged, and a person gave it up"));

    ledger.jobs().add([job("wolf", DAMAGED)]).await.unwrap();
    fixture.batch(&ledger).run().await.unwrap();
    ledger.jobs().forget(&named("wolf")).await.unwrap();
    assert_eq!(ledger.jobs().get("wolf").await.unwrap(), None);
    assert!(Path::new(&kept).exists());
    // Neither counts as active, and the client does not resume them.
    assert_eq!(
        fixture.count("SELECT COUNT(*) FROM imagekiln.submissions WHERE state <> 'settled'").await,
        0
    );
    let client = fixture.client().journal(ledger).build().unwrap();
    assert!(client.resume().await.unwrap().is_empty());
}
