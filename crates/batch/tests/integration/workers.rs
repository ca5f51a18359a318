//! Several workers: leases, take-overs, and limits that hold for all of them.

use std::time::Duration;

use imagekiln_batch::{Batch, ErrorKind, JobState, JobStatus, Ledger, Report, Resolution};
use imagekiln_simulator::Config;
use imagekiln_testbed::Trial;
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    task::JoinSet,
    time,
};

use crate::support::{
    Backend, Fixture, PRICE, assert_equal, both, is_picture, job, jobs, notifying, reason,
    run_until, state,
};

pub fn tests() -> Vec<Vec<Trial>> {
    vec![
        both(the_cap_holds_for_all_workers),
        both(the_budget_holds_for_all_workers),
        both(the_jobs_of_a_dead_worker_are_taken_over),
        both(a_worker_that_lost_its_lease_writes_nothing),
        both(a_run_continues_with_a_response_that_arrives_after_its_lease),
        both(a_worker_that_lost_its_lease_saves_no_second_picture),
        both(a_stopped_run_ends_its_active_jobs),
        both(a_batch_waits_for_more_jobs),
        both(a_waiting_batch_that_lost_its_lease_starts_jobs),
        both(changes_follow_each_job),
    ]
}

/// Runs so many batches at the same time, and returns the report of the last one.
async fn run_all(
    fixture: &Fixture,
    ledger: &Ledger,
    count: usize,
    configure: impl Fn(Batch) -> Batch,
) -> Report {
    let mut runs = JoinSet::new();
    for _ in 0..count {
        let mut batch = configure(fixture.batch(&fixture.another(ledger).await));
        runs.spawn(async move { batch.run().await.unwrap() });
    }
    runs.join_all().await.pop().unwrap()
}

async fn the_cap_holds_for_all_workers(backend: Backend) {
    let config = Config { max_active_tasks: 4, ..Config::default() };
    let fixture = Fixture::with(backend, config).await;
    let ledger = fixture.ledger().await;
    ledger.jobs().add(jobs(60)).await.unwrap();
    let report = run_all(&fixture, &ledger, 3, |batch| batch.max_active(4)).await;
    assert_eq!((report.count(JobState::Saved), fixture.accepted()), (60, 60));
    assert!(fixture.simulator.counts().refused.is_empty(), "more than 4 active tasks");
}

async fn the_budget_holds_for_all_workers(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    ledger.jobs().add(jobs(20)).await.unwrap();
    let report = run_all(&fixture, &ledger, 3, |batch| batch.budget(7.5 * PRICE)).await;
    assert_eq!((report.count(JobState::Saved), report.count(JobState::Queued)), (7, 13));
    assert_equal(fixture.charged(), 7.0 * PRICE);
    let report = run_all(&fixture, &ledger, 3, |batch| batch.budget(9.0 * PRICE)).await;
    assert_eq!((report.count(JobState::Saved), fixture.accepted()), (9, 9));
}

/// A lease that its worker does not renew during a test.
const SELDOM: Duration = Duration::from_secs(86_400);

const EXPIRE: &str = "UPDATE imagekiln.workers SET lease_until = 0";

async fn the_jobs_of_a_dead_worker_are_taken_over(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    ledger.jobs().add([job("paid", "a fox")]).await.unwrap();
    let first = fixture.batch(&fixture.another(&ledger).await);
    let _dead = run_until(first, JobState::Submitted).await;
    // The second worker waits for the lease of the first.
    let mut second = fixture.batch(&fixture.another(&ledger).await);
    let waiting = time::timeout(Duration::from_secs(300), second.run()).await;
    assert!(waiting.is_err(), "it did not wait");
    fixture.execute(EXPIRE).await;
    let report = second.run().await.unwrap();
    assert_eq!((report.count(JobState::Saved), fixture.accepted()), (1, 1));
}

async fn a_worker_that_lost_its_lease_writes_nothing(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    ledger.jobs().add([job("fox", "a fox")]).await.unwrap();
    let (first, other) = (fixture.another(&ledger).await, fixture.another(&ledger).await);
    let stale = fixture.batch(&first).lease(SELDOM);
    let (mut stale, submitted) = notifying(stale, JobState::Submitted);
    fixture.simulator.clock().set_speed(0.0);
    let stale = tokio::spawn(async move { stale.run().await });
    submitted.notified().await;
    fixture.execute(EXPIRE).await;
    let mut taker = fixture.batch(&other);
    let taker = tokio::spawn(async move { taker.run().await });
    fixture.simulator.clock().set_speed(1.0);
    for run in [stale, taker] {
        assert_eq!(run.await.unwrap().unwrap().count(JobState::Saved), 1);
    }
    assert_eq!(fixture.accepted(), 1);
    let status = ledger.jobs().get("fox").await.unwrap().unwrap();
    assert!(is_picture(status.location.unwrap()));
}

/// The worker is taken for dead while it waits for the response. With a short lease, it has nothing
/// left to do before the response arrives.
async fn a_run_continues_with_a_response_that_arrives_after_its_lease(backend: Backend) {
    for lease in [SELDOM, Duration::from_secs(9)] {
        let (fixture, ledger) = Fixture::with_ledger(backend).await;
        ledger.jobs().add([job("fox", "a fox")]).await.unwrap();
        fixture.simulator.faults().add("slow-headers@submission=20:once").unwrap();
        let (first, second) = (fixture.another(&ledger).await, fixture.another(&ledger).await);
        let mut slow = fixture.batch(&first).lease(lease);
        let slow = tokio::spawn(async move { slow.run().await });
        while fixture.accepted() == 0 {
            tokio::task::yield_now().await;
        }
        fixture.execute(EXPIRE).await;
        fixture.batch(&second).run().await.unwrap();
        assert_eq!(state(&ledger, "fox").await, JobState::Unknown);
        assert!(reason(&ledger, "fox").await.contains("did not respond"));
        let error = ledger.jobs().resolve("fox", Resolution::NotPaid).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Hold);
        assert!(error.to_string().contains("try again in 900 s"), "{error}");
        let report = slow.await.unwrap().unwrap();
        assert_eq!((report.count(JobState::Saved), fixture.accepted()), (1, 1), "{lease:?}");
    }
}

async fn a_worker_that_lost_its_lease_saves_no_second_picture(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    ledger.jobs().add([job("fox", "a fox [[slow-headers@delivery=9:2x]]")]).await.unwrap();
    let first = fixture.another(&ledger).await;
    let second = fixture.another(&ledger).await;
    let slow = fixture.batch(&first).lease(SELDOM);
    let (mut slow, is_saving) = notifying(slow, JobState::Ready);
    let slow = tokio::spawn(async move { slow.run().await });
    is_saving.notified().await;
    time::sleep(Duration::from_secs(3)).await;
    fixture.execute(EXPIRE).await;
    // Both download the picture. The first worker has it first.
    let report = fixture.batch(&second).run().await.unwrap();
    slow.await.unwrap().unwrap();
    assert_eq!(report.count(JobState::Saved), 1);
    assert_eq!(fixture.files(), [1, 1, 0], "pictures, descriptions, others");
}

async fn a_stopped_run_ends_its_active_jobs(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    ledger.jobs().add(jobs(10)).await.unwrap();
    let batch = fixture.batch(&ledger).max_active(3);
    let (batch, submitted) = notifying(batch, JobState::Submitted);
    let mut batch = batch.stop_when(async move { submitted.notified().await });
    let report = batch.run().await.unwrap();
    let saved = report.count(JobState::Saved);
    assert!((1..=3).contains(&saved), "{report}");
    assert_eq!((saved, report.count(JobState::Queued)), (fixture.accepted(), 10 - saved));
    assert_eq!(batch.run().await.unwrap().count(JobState::Saved), 10);
}

async fn a_batch_waits_for_more_jobs(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let batch = fixture.batch(&ledger).wait_for_jobs().stop_when(async {
        let _ = stopped.await;
    });
    let (mut batch, mut changes) = with_changes(batch);
    let run = tokio::spawn(async move { batch.run().await });
    for number in 0..3 {
        ledger.jobs().add([job(&format!("{number}"), "a fox")]).await.unwrap();
        while changes.recv().await.unwrap().state != JobState::Saved {}
    }
    stop.send(()).unwrap();
    assert_eq!(run.await.unwrap().unwrap().count(JobState::Saved), 3);
}

async fn a_waiting_batch_that_lost_its_lease_starts_jobs(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let waiting = fixture.batch(&ledger).jobs(jobs(1)).wait_for_jobs().lease(SELDOM);
    let (mut waiting, mut changes) = with_changes(waiting.stop_when(async {
        let _ = stopped.await;
    }));
    let run = tokio::spawn(async move { waiting.run().await });
    while changes.recv().await.unwrap().state != JobState::Saved {}
    fixture.execute(EXPIRE).await;
    // Its worker ends the one that waits.
    fixture.batch(&fixture.another(&ledger).await).run().await.unwrap();
    ledger.jobs().add([job("late", "a fox")]).await.unwrap();
    let added = time::Instant::now();
    while changes.recv().await.unwrap().state != JobState::Saved {}
    assert!(added.elapsed() < Duration::from_secs(60), "it waited for the next renewal");
    stop.send(()).unwrap();
    assert_eq!(run.await.unwrap().unwrap().count(JobState::Saved), 2);
}

/// Returns a batch, and the changes of its jobs.
fn with_changes(batch: Batch) -> (Batch, UnboundedReceiver<JobStatus>) {
    let (sender, changes) = unbounded_channel();
    (batch.on_change(move |job| drop(sender.send(job.clone()))), changes)
}

async fn changes_follow_each_job(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let (mut batch, mut changes) = with_changes(fixture.batch(&ledger).jobs(jobs(1)));
    batch.run().await.unwrap();
    let status = ledger.jobs().get("0").await.unwrap().unwrap();
    drop(batch);
    let mut states = Vec::new();
    while let Some(job) = changes.recv().await {
        assert_eq!((&job.name, job.number), (&status.name, 1));
        assert_eq!((&job.task_id, job.credits), (&status.task_id, status.credits));
        states.push(job.state);
    }
    assert_eq!(states, [JobState::Submitted, JobState::Ready, JobState::Saved]);
}
