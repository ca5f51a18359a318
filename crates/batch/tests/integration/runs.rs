//! A batch: what it submits, saves and leaves.

use std::{
    fs,
    sync::{Arc, Mutex},
    time::Duration,
};

use imagekiln_batch::{ErrorKind, Job, JobState, JobStatus, Resolution};
use imagekiln_simulator::Config;
use imagekiln_testbed::Trial;
use tokio::{sync::Notify, time::timeout};

use crate::support::{
    Backend, Fixture, PRICE, all, assert_equal, both, chain, interrupt, is_picture, job, jobs,
    reason, run_until, state,
};

pub fn tests() -> Vec<Vec<Trial>> {
    vec![
        both(all_pictures_are_saved_and_reported),
        both(every_end_of_a_job_has_a_reason),
        both(a_picture_that_is_refused_after_its_validity_has_expired),
        both(a_file_is_never_overwritten),
        both(a_file_of_another_program_is_not_taken_for_the_picture),
        both(a_refused_key_stops_the_batch_and_bills_nothing),
        both(a_refused_key_stops_a_batch_that_records_the_picture_of_an_earlier_run),
        both(as_many_jobs_are_active_as_the_service_allows),
        both(a_picture_that_cannot_be_saved_stops_the_submissions),
        both(a_dropped_run_is_resumed),
        both(a_job_is_continued_although_the_clock_was_set_back),
        both(paid_jobs_come_first),
        both(a_ledger_keeps_how_long_tasks_took),
        both(a_submission_that_outlives_its_deadline_is_not_lost),
    ]
}

async fn all_pictures_are_saved_and_reported(backend: Backend) {
    let config = Config { max_active_tasks: 4, ..Config::default() };
    let fixture = Fixture::with(backend, config).await;
    let ledger = fixture.ledger().await;
    let jobs: Vec<Job> = (0..20).map(|n| job(&format!("a/{n}"), &format!("fox {n}"))).collect();
    let changes = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&changes);
    let mut batch = fixture
        .batch(&ledger)
        .jobs(jobs)
        .max_active(4)
        .on_change(move |job| seen.lock().unwrap().push((job.name.clone(), job.state)));
    let report = batch.run().await.unwrap();
    assert_eq!(report.count(JobState::Saved), 20);
    assert_equal(report.credits(), 20.0 * PRICE);
    assert_equal(report.credits(), fixture.charged());
    assert!(fixture.simulator.counts().refused.is_empty(), "more than 4 active tasks");
    for job in all(&ledger).await {
        let target = fixture.output().join(&job.target);
        assert_eq!(job.location.as_deref(), target.to_str());
        assert!(is_picture(job.location.unwrap()));
        let changes = changes.lock().unwrap();
        let states = changes.iter().filter(|(name, _)| *name == job.name).map(|(_, state)| *state);
        let expected = [JobState::Submitted, JobState::Ready, JobState::Saved];
        assert_eq!(states.collect::<Vec<_>>(), expected);
    }
    batch.run().await.unwrap();
    assert_eq!(fixture.accepted(), 20);
    assert!(report.to_string().contains("saved          20       60.00 credits  gen-2-pro"));
}

async fn a_ledger_keeps_how_long_tasks_took(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    fixture.batch(&ledger).jobs([job("fox", "a fox")]).run().await.unwrap();
    let mut next = fixture.batch(&ledger);
    assert!(next.client().durations().is_empty());
    next.run().await.unwrap();
    assert!(!next.client().durations().is_empty());
}

async fn every_end_of_a_job_has_a_reason(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    fixture.simulator.faults().add("early-expiry:always").unwrap();
    let jobs = [
        ("error", "a fox [[error]]", JobState::Failed, "`Error`"),
        ("moderated", "a fox [[request-moderated]]", JobState::Moderated, "Moderated"),
        ("missing", "a fox [[not-found]]", JobState::Submitted, "Task not found"),
        ("refused", "a fox", JobState::Ready, "403"),
        ("lost", "a fox [[reply-lost]]", JobState::Unknown, "connection"),
        ("failing", "a fox [[error-after]]", JobState::Unknown, "500"),
    ];
    let mut batch = fixture.batch(&ledger).jobs(jobs.map(|(name, prompt, ..)| job(name, prompt)));
    let invalid = imagekiln::types::Gen2Pro::new("a fox").width(16);
    batch = batch.jobs([Job::new("invalid", "invalid.jpg", invalid)]);
    let report = batch.run().await.unwrap();
    for (name, _, expected, part) in jobs {
        assert_eq!(state(&ledger, name).await, expected, "{name}");
        assert!(reason(&ledger, name).await.contains(part), "{}", reason(&ledger, name).await);
    }
    assert_eq!(state(&ledger, "invalid").await, JobState::Failed);
    assert!(reason(&ledger, "invalid").await.contains("width: is 16"));
    assert_eq!(fixture.accepted(), 6);
    assert_equal(report.credits(), 4.0 * PRICE);
    assert_eq!(fixture.files(), [0, 0, 0], "pictures, descriptions, others");
}

/// The validity counts from the first run that found the picture ready.
async fn a_picture_that_is_refused_after_its_validity_has_expired(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    fixture.simulator.faults().add("early-expiry:always").unwrap();
    fixture.batch(&ledger).jobs([job("fox", "a fox")]).run().await.unwrap();
    assert_eq!(state(&ledger, "fox").await, JobState::Ready);
    // Only the clock of the service proves it.
    fixture.execute("UPDATE imagekiln.jobs SET ready_at = ready_at - 601000").await;
    let ledger = fixture.reopen(ledger).await;
    fixture.batch(&ledger).run().await.unwrap();
    assert_eq!(state(&ledger, "fox").await, JobState::Ready);
    fixture.simulator.clock().advance(Duration::from_secs(601));
    let ledger = fixture.reopen(ledger).await;
    fixture.batch(&ledger).run().await.unwrap();
    assert_eq!(state(&ledger, "fox").await, JobState::Expired);
    let reason = reason(&ledger, "fox").await;
    assert!(reason.contains("has expired (403)"), "{reason}");
}

async fn a_file_is_never_overwritten(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    fs::create_dir(fixture.output()).unwrap();
    let target = fixture.output().join("first.jpg");
    fs::write(&target, "mine").unwrap();
    fixture.batch(&ledger).jobs([job("first", "a fox")]).run().await.unwrap();
    assert_eq!(state(&ledger, "first").await, JobState::Failed);
    assert!(reason(&ledger, "first").await.contains("the target exists"));
    assert_eq!((fs::read(&target).unwrap(), fixture.accepted()), (b"mine".to_vec(), 0));

    // Files that appear after the submission, and after the job became ready.
    let mut ledger = ledger;
    for (name, at) in [("second", JobState::Submitted), ("third", JobState::Ready)] {
        ledger = fixture.reopen(ledger).await;
        let target = fixture.output().join(name).with_extension("jpg");
        let file = target.clone();
        let create = move |job: &JobStatus| {
            if job.state == at {
                fs::write(&file, "mine").unwrap();
            }
        };
        fixture.batch(&ledger).jobs([job(name, name)]).on_change(create).run().await.unwrap();
        let status = ledger.jobs().get(name).await.unwrap().unwrap();
        assert_eq!(status.state, JobState::Saved);
        assert_eq!(fs::read(&target).unwrap(), b"mine");
        let location = status.location.unwrap();
        assert!(is_picture(&location) && location != target.to_str().unwrap());
        assert!(location.contains(&status.task_id.unwrap()), "{location}");
    }
}

async fn a_file_of_another_program_is_not_taken_for_the_picture(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let target = fixture.output().join("fox.jpg");
    let (file, ready) = (target.clone(), Arc::new(Notify::new()));
    let is_ready = Arc::clone(&ready);
    let on_change = move |job: &JobStatus| match job.state {
        JobState::Submitted => fs::write(&file, "mine").unwrap(),
        JobState::Ready => is_ready.notify_one(),
        _ => {}
    };
    let mut batch = fixture.batch(&ledger).jobs([job("fox", "a fox")]).on_change(on_change);
    interrupt(&mut batch, &ready).await;
    drop(batch);
    let ledger = fixture.reopen(ledger).await;
    assert_eq!(state(&ledger, "fox").await, JobState::Ready);
    fixture.batch(&ledger).run().await.unwrap();
    let status = ledger.jobs().get("fox").await.unwrap().unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"mine");
    assert!(is_picture(status.location.unwrap()));
}

async fn a_refused_key_stops_the_batch_and_bills_nothing(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let mut batch =
        fixture.batch_of(fixture.client().api_key("wrong"), &ledger).jobs(jobs(9)).max_active(2);
    let error = batch.run().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Outage);
    assert_eq!(error.client_error().unwrap().kind(), imagekiln::ErrorKind::Auth);
    let text = chain(&error);
    assert!(!text.contains("wrong"), "{text}");
    assert_eq!(ledger.reports().jobs().await.unwrap().count(JobState::Queued), 9);
    assert!(fixture.simulator.counts().refused_with(403) <= 2);
    drop(batch);
    let ledger = fixture.reopen(ledger).await;
    let report = fixture.batch(&ledger).run().await.unwrap();
    assert_eq!((report.count(JobState::Saved), fixture.accepted()), (9, 9));
}

/// A picture that an earlier run paid for says nothing about the key of this one.
async fn a_refused_key_stops_a_batch_that_records_the_picture_of_an_earlier_run(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    fixture.batch(&ledger).jobs([job("hen", "a hen")]).run().await.unwrap();
    let ledger = fixture.reopen(ledger).await;
    let batch = fixture.batch(&ledger).jobs([job("fox", "a fox")]);
    drop(run_until(batch, JobState::Ready).await);
    // The process was killed after it saved the picture.
    let picture = |name| fixture.output().join(name).with_extension("jpg");
    fs::copy(picture("hen"), picture("fox")).unwrap();

    let ledger = fixture.reopen(ledger).await;
    let batch = fixture.batch_of(fixture.client().api_key("wrong"), &ledger);
    let mut batch = batch.jobs([job("owl", "an owl")]);
    let ended = timeout(Duration::from_secs(60), batch.run()).await;
    assert_eq!(ended.expect("the run waits").unwrap_err().kind(), ErrorKind::Outage);
    assert_eq!(state(&ledger, "fox").await, JobState::Saved);
    assert_eq!(state(&ledger, "owl").await, JobState::Queued);
}

async fn as_many_jobs_are_active_as_the_service_allows(backend: Backend) {
    for (allowed, cap, refusals) in
        [(1, Some(12), 1..=u64::MAX), (6, None, 0..=10), (100, None, 0..=0)]
    {
        let config = Config { max_active_tasks: allowed, ..Config::default() };
        let fixture = Fixture::with(backend, config).await;
        let ledger = fixture.ledger().await;
        let batch = fixture.batch(&ledger).jobs(jobs(40));
        let mut batch = match cap {
            Some(cap) => batch.max_active(cap),
            None => batch,
        };
        let report = batch.run().await.unwrap();
        assert_eq!((report.count(JobState::Saved), fixture.accepted()), (40, 40));
        let refused = fixture.simulator.counts().refused_with(429);
        assert!(refusals.contains(&refused), "{refused} of {allowed}");
    }
}

async fn a_picture_that_cannot_be_saved_stops_the_submissions(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    fs::create_dir(fixture.output()).unwrap();
    let output = fixture.output();
    let remove = move |job: &JobStatus| {
        if job.state == JobState::Ready && job.reason.is_none() {
            fs::remove_dir_all(&output).unwrap_or_default();
        }
    };
    let mut batch = fixture.batch(&ledger).jobs(jobs(9)).max_active(2).on_change(remove);
    let error = batch.run().await.unwrap_err();
    assert_eq!(error.client_error().unwrap().kind(), imagekiln::ErrorKind::File);
    assert!(fixture.accepted() <= 2, "{}", fixture.accepted());
    let paid = fixture.accepted();
    assert_eq!(ledger.reports().jobs().await.unwrap().count(JobState::Ready), paid);
    drop(batch);
    let ledger = fixture.reopen(ledger).await;
    let report = fixture.batch(&ledger).run().await.unwrap();
    assert_eq!((report.count(JobState::Saved), fixture.accepted()), (9, 9));
}

async fn a_dropped_run_is_resumed(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let mut batch = fixture.batch(&ledger).jobs(jobs(9)).max_active(3);
    fixture.simulator.faults().add("slow-headers@submission=5:3x").unwrap();
    for seconds in [1, 7, 8] {
        let _ = timeout(Duration::from_secs(seconds), batch.run()).await;
    }
    assert_eq!(batch.run().await.unwrap().count(JobState::Saved), 9);
    assert_eq!(fixture.accepted(), 9);
}

async fn a_job_is_continued_although_the_clock_was_set_back(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    // The first run does not find the task five times, and leaves the job.
    fixture.simulator.faults().add("spurious-not-found@poll:5x").unwrap();
    let mut batch = fixture.batch(&ledger).jobs([job("fox", "a fox")]);
    batch.run().await.unwrap();
    assert_eq!(state(&ledger, "fox").await, JobState::Submitted);
    for (table, columns) in [
        ("jobs", &["added_at", "changed_at"][..]),
        ("submissions", &["sent_at", "accepted_at"]),
        ("workers", &["started_at", "ended_at"]),
    ] {
        let day_later: Vec<_> =
            columns.iter().map(|column| format!("{column} = {column} + 86400000")).collect();
        let update = format!("UPDATE imagekiln.{table} SET {}", day_later.join(", "));
        fixture.execute(&update).await;
    }
    batch.run().await.unwrap();
    assert_eq!((state(&ledger, "fox").await, fixture.accepted()), (JobState::Saved, 1));
}

async fn paid_jobs_come_first(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let jobs = [job("lost", "a fox [[reply-lost]]"), job("paid", "a fox")];
    let batch = fixture.batch(&ledger).jobs(jobs).max_active(1);
    drop(run_until(batch, JobState::Submitted).await);
    let ledger = fixture.reopen(ledger).await;
    ledger.jobs().resolve("lost", Resolution::NotPaid).await.unwrap();
    let changed = Arc::new(Mutex::new(Vec::new()));
    let names = Arc::clone(&changed);
    let on_change = move |job: &JobStatus| names.lock().unwrap().push(job.name.clone());
    fixture.batch(&ledger).max_active(1).on_change(on_change).run().await.unwrap();
    assert_eq!(*changed.lock().unwrap(), ["paid", "paid", "lost", "lost", "lost"]);
}

async fn a_submission_that_outlives_its_deadline_is_not_lost(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    fixture.simulator.faults().add("slow-headers@submission=20:once").unwrap();
    let client = fixture.client().submit_deadline(Duration::from_secs(5));
    let mut batch = fixture.batch_of(client, &ledger).jobs([job("fox", "a fox")]);
    let report = batch.run().await.unwrap();
    assert_eq!((report.count(JobState::Saved), fixture.accepted()), (1, 1));
}
