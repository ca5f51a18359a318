//! Jobs that a queue of the program delivers.

pub mod unknown;

use std::{
    collections::{HashSet, VecDeque},
    future,
    time::Duration,
};

use imagekiln_batch::{Advanced, Batch, Dispatcher, ErrorKind, Filter, JobState, Ledger, Scope};
use imagekiln_testbed::Trial;
use tokio::{task, time};

use crate::support::{Backend, Fixture, PRICE, all, assert_equal, both, job, jobs, sqlite, state};

pub fn tests() -> Vec<Vec<Trial>> {
    vec![
        both(a_queue_that_delivers_everything_twice_pays_once),
        both(a_dispatcher_that_lost_its_lease_continues),
        both(a_limit_holds_back_what_a_queue_delivers),
        both(a_queue_is_filled_again_from_the_ledger),
        both(a_call_that_is_dropped_at_its_start_submits_nothing),
        both(a_submission_in_flight_is_not_sent_twice),
        both(a_call_that_is_dropped_gives_its_paid_job_back),
        both(a_dispatcher_finishes_after_the_submissions_of_dropped_calls),
        both(a_dispatcher_continues_the_jobs_of_a_dropped_run),
        both(calls_that_are_dropped_at_any_time_pay_once),
        both(a_job_that_could_not_be_released_continues),
        both(an_outage_holds_jobs_back_for_its_pause),
        sqlite(settings_of_runs_are_refused),
    ]
}

async fn dispatcher(fixture: &Fixture, ledger: &Ledger) -> Dispatcher {
    fixture.batch(ledger).dispatcher().await.unwrap()
}

/// How often a queue delivers a job that does not end.
const DELIVERIES: usize = 1000;

/// A queue in memory: delivers the names until their jobs have ended.
async fn deliver(dispatcher: &Dispatcher, names: impl IntoIterator<Item = String>) {
    let mut queue: VecDeque<_> = names.into_iter().map(|name| (name, 0)).collect();
    while let Some((name, deliveries)) = queue.pop_front() {
        assert!(deliveries < DELIVERIES, "nobody continues the job");
        match dispatcher.advance(&name).await.unwrap() {
            Advanced::Later(after) => {
                time::sleep(after).await;
                queue.push_back((name, deliveries + 1));
            }
            Advanced::Ended(job) => assert_eq!(job.state, JobState::Saved),
            other => panic!("{other:?}"),
        }
    }
}

async fn a_queue_that_delivers_everything_twice_pays_once(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    ledger.jobs().add(jobs(6)).await.unwrap();
    let one = dispatcher(&fixture, &ledger).await;
    let other = dispatcher(&fixture, &fixture.another(&ledger).await).await;
    let names = || (0..6).map(|number| number.to_string());
    let forward = || deliver(&one, names());
    let backward = || deliver(&other, names().rev());
    tokio::join!(forward(), forward(), backward(), backward());
    assert_equal(fixture.charged(), 6.0 * PRICE);
    assert_eq!(fixture.files(), [6, 6, 0]);
    let unknown = one.advance("wolf").await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::State);
    one.finish().await.unwrap();
    other.finish().await.unwrap();
}

async fn a_dispatcher_that_lost_its_lease_continues(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let day = Duration::from_secs(86_400);
    let one = fixture.batch(&ledger).jobs(jobs(3)).lease(day).dispatcher().await.unwrap();
    deliver(&one, ["0".to_owned()]).await;
    fixture.execute("UPDATE imagekiln.workers SET lease_until = 0").await;
    let other = dispatcher(&fixture, &fixture.another(&ledger).await).await;
    let lost = time::Instant::now();
    deliver(&one, ["1".to_owned()]).await;
    assert!(lost.elapsed() < Duration::from_secs(60), "it waited for the next renewal");
    deliver(&other, ["2".to_owned()]).await;
    assert_equal(fixture.charged(), 3.0 * PRICE);
}

async fn a_limit_holds_back_what_a_queue_delivers(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    ledger.jobs().add([job("fox", "a fox").group("anna")]).await.unwrap();
    let dispatcher = dispatcher(&fixture, &ledger).await;
    let anna = Scope::Group("anna".to_owned());
    ledger.limits().pause(anna.clone()).await.unwrap();
    assert!(matches!(dispatcher.advance("fox").await.unwrap(), Advanced::Later(_)));
    ledger.limits().set_budget(anna.clone(), Some(1.0)).await.unwrap();
    ledger.limits().unpause(anna.clone()).await.unwrap();
    // The price of the first job of an operation is not known.
    ledger.jobs().add([job("wolf", "a wolf")]).await.unwrap();
    deliver(&dispatcher, ["wolf".to_owned()]).await;
    assert!(matches!(dispatcher.advance("fox").await.unwrap(), Advanced::Later(_)));
    assert_eq!((state(&ledger, "fox").await, fixture.accepted()), (JobState::Queued, 1));
    ledger.limits().set_budget(anna, None).await.unwrap();
    deliver(&dispatcher, ["fox".to_owned()]).await;
    assert_eq!(fixture.accepted(), 2);
    dispatcher.finish().await.unwrap();
}

async fn a_queue_is_filled_again_from_the_ledger(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    ledger.jobs().add(jobs(4)).await.unwrap();
    let lost = dispatcher(&fixture, &ledger).await;
    deliver(&lost, ["2".to_owned()]).await;
    // The process ends, and the queue has lost everything.
    drop(lost);
    let ledger = fixture.reopen(ledger).await;
    let open = [JobState::Queued, JobState::Submitted, JobState::Ready];
    let open = ledger.jobs().page(&Filter::states(open), 0, 100).await.unwrap();
    assert_eq!(open.len(), 3);
    let next = dispatcher(&fixture, &ledger).await;
    deliver(&next, open.into_iter().map(|job| job.name)).await;
    assert_equal(fixture.charged(), 4.0 * PRICE);
}

/// Drops a call when the signal arrives.
async fn drop_when(call: impl Future, signal: impl Future<Output = ()>) {
    tokio::select! {
        biased;
        () = signal => {}
        _ = call => panic!("the call was not dropped"),
    }
}

/// Returns when the job has this state.
async fn reaches(ledger: &Ledger, name: &str, wanted: JobState) {
    while state(ledger, name).await != wanted {
        // The clock stands still while this waits without sleeping.
        time::sleep(Duration::from_millis(100)).await;
    }
}

fn later(advanced: Advanced) -> Duration {
    match advanced {
        Advanced::Later(after) => after,
        other => panic!("{other:?}"),
    }
}

fn ended(advanced: Advanced) -> JobState {
    match advanced {
        Advanced::Ended(job) => job.state,
        other => panic!("{other:?}"),
    }
}

async fn a_call_that_is_dropped_at_its_start_submits_nothing(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let one = fixture.batch(&ledger).jobs(jobs(1)).dispatcher().await.unwrap();
    let other = dispatcher(&fixture, &fixture.another(&ledger).await).await;
    // The transaction of the claim is committed although nobody waits for it.
    drop_when(one.advance("0"), task::yield_now()).await;
    time::sleep(Duration::from_secs(60)).await;
    assert_eq!((state(&ledger, "0").await, fixture.accepted()), (JobState::Queued, 0));
    assert_eq!(ended(other.advance("0").await.unwrap()), JobState::Saved);
    assert_eq!(fixture.accepted(), 1);
}

async fn a_submission_in_flight_is_not_sent_twice(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let one = fixture.batch(&ledger).jobs(jobs(1)).dispatcher().await.unwrap();
    let other = dispatcher(&fixture, &fixture.another(&ledger).await).await;
    fixture.simulator.faults().add("slow-headers@submission=20:once").unwrap();
    drop_when(one.advance("0"), reaches(&ledger, "0", JobState::Submitting)).await;
    for dispatcher in [&one, &other] {
        assert_eq!(later(dispatcher.advance("0").await.unwrap()), Duration::from_secs(1));
    }
    time::sleep(Duration::from_secs(30)).await;
    assert_eq!(state(&ledger, "0").await, JobState::Submitted);
    assert_eq!(ended(other.advance("0").await.unwrap()), JobState::Saved);
    assert_eq!(ended(one.advance("0").await.unwrap()), JobState::Saved);
    assert_eq!((fixture.accepted(), fixture.files()), (1, [1, 1, 0]));
}

async fn a_call_that_is_dropped_gives_its_paid_job_back(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let slow = job("slow", "a fox [[slow-headers@delivery=9]]");
    let names = ["0", "1", "slow"];
    let batch = fixture.batch(&ledger).jobs(jobs(2)).jobs([slow]);
    let one = batch.dispatcher().await.unwrap();
    let other = dispatcher(&fixture, &fixture.another(&ledger).await).await;
    fixture.simulator.clock().set_speed(0.0);
    for name in names {
        drop_when(one.advance(name), reaches(&ledger, name, JobState::Submitted)).await;
    }
    fixture.simulator.clock().set_speed(1.0);
    assert_eq!(ended(one.advance("0").await.unwrap()), JobState::Saved);
    assert_eq!(ended(other.advance("1").await.unwrap()), JobState::Saved);
    // While its picture is downloaded.
    drop_when(one.advance("slow"), reaches(&ledger, "slow", JobState::Ready)).await;
    deliver(&one, ["slow".to_owned()]).await;
    assert_eq!((fixture.accepted(), fixture.files()), (3, [3, 3, 0]));
}

async fn a_dispatcher_finishes_after_the_submissions_of_dropped_calls(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let one = fixture.batch(&ledger).jobs(jobs(1)).dispatcher().await.unwrap();
    fixture.simulator.faults().add("slow-headers@submission=20:once").unwrap();
    drop_when(one.advance("0"), reaches(&ledger, "0", JobState::Submitting)).await;
    one.finish().await.unwrap();
    assert_eq!(state(&ledger, "0").await, JobState::Submitted);
    let other = dispatcher(&fixture, &ledger).await;
    assert_eq!(ended(other.advance("0").await.unwrap()), JobState::Saved);
    assert_eq!(fixture.accepted(), 1);
}

async fn a_dispatcher_continues_the_jobs_of_a_dropped_run(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    ledger.jobs().add(jobs(1)).await.unwrap();
    let mut batch = fixture.batch(&ledger);
    fixture.simulator.clock().set_speed(0.0);
    drop_when(batch.run(), reaches(&ledger, "0", JobState::Submitted)).await;
    fixture.simulator.clock().set_speed(1.0);
    let dispatcher = batch.dispatcher().await.unwrap();
    assert_eq!(ended(dispatcher.advance("0").await.unwrap()), JobState::Saved);
    assert_eq!(fixture.accepted(), 1);
    dispatcher.finish().await.unwrap();
}

/// Numbers that look random, and are the same in each run of the tests.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) % most
    }
}

/// How many calls for each job are dropped.
const DROPS: usize = 12;

async fn calls_that_are_dropped_at_any_time_pay_once(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let slow = ["", "[[slow-headers@submission=9]]", "[[slow-headers@delivery=9:2x]]"];
    let jobs: Vec<_> = (0..18)
        .map(|number| job(&format!("{number}"), &format!("fox {number} {}", slow[number % 3])))
        .collect();
    ledger.jobs().add(jobs).await.unwrap();
    let one = dispatcher(&fixture, &ledger).await;
    let other = dispatcher(&fixture, &fixture.another(&ledger).await).await;
    let mut dropped = HashSet::new();
    for number in 0..18 {
        let (name, mut random) = (number.to_string(), Random(number));
        for _ in 0..DROPS {
            let dispatcher = [&one, &other][random.below(2) as usize];
            let (seconds, turns) = (random.below(3) * random.below(6), random.below(1500));
            let signal = async {
                time::sleep(Duration::from_secs(seconds)).await;
                for _ in 0..turns {
                    task::yield_now().await;
                }
            };
            tokio::select! {
                () = signal => {
                    dropped.insert(state(&ledger, &name).await);
                }
                advanced = dispatcher.advance(&name) => match advanced.unwrap() {
                    Advanced::Later(after) => time::sleep(after).await,
                    _ => break,
                },
            }
        }
        deliver(&one, [name]).await;
    }
    assert!(dropped.len() > 2, "only {dropped:?}");
    assert_eq!((fixture.accepted(), fixture.files()), (18, [18, 18, 0]));
    assert_equal(fixture.charged(), 18.0 * PRICE);
    one.finish().await.unwrap();
    other.finish().await.unwrap();
}

/// For example because the database failed.
async fn a_job_that_could_not_be_released_continues(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let one = fixture.batch(&ledger).jobs(jobs(1)).dispatcher().await.unwrap();
    let claim = "UPDATE imagekiln.jobs SET worker = (SELECT MAX(id) FROM imagekiln.workers)";
    fixture.execute(claim).await;
    let other = dispatcher(&fixture, &fixture.another(&ledger).await).await;
    assert_eq!(later(other.advance("0").await.unwrap()), Duration::from_secs(1));
    assert_eq!(ended(one.advance("0").await.unwrap()), JobState::Saved);
}

async fn an_outage_holds_jobs_back_for_its_pause(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let wrong = fixture.batch_of(fixture.client().api_key("wrong"), &ledger);
    let wrong = wrong.jobs(jobs(1)).dispatcher().await.unwrap();
    later(wrong.advance("0").await.unwrap());
    fixture.execute("UPDATE imagekiln.outages SET until = until + 40000").await;
    let right = dispatcher(&fixture, &fixture.another(&ledger).await).await;
    for dispatcher in [&wrong, &right] {
        let after = later(dispatcher.advance("0").await.unwrap());
        assert!((30..=41).contains(&after.as_secs()), "{after:?}");
    }
    // A person may end a longer one.
    fixture.execute("UPDATE imagekiln.outages SET until = until + 120000").await;
    assert_eq!(later(right.advance("0").await.unwrap()), Duration::from_secs(60));
    // While another job finds out whether it has ended.
    fixture.execute("UPDATE imagekiln.outages SET probe = 'another'").await;
    assert_eq!(later(right.advance("0").await.unwrap()), Duration::from_secs(5));
    ledger.limits().unpause(Scope::Ledger).await.unwrap();
    assert_eq!(ended(right.advance("0").await.unwrap()), JobState::Saved);
}

async fn settings_of_runs_are_refused() {
    let (fixture, ledger) = Fixture::with_ledger(Backend::Sqlite).await;
    let batch = || fixture.batch(&ledger).jobs(jobs(1));
    let refused = [
        (batch().stop_when(future::pending()), "Batch::stop_when"),
        (batch().wait_for_jobs(), "Batch::wait_for_jobs"),
        (batch().archive_after(Duration::ZERO), "Batch::archive_after"),
        (batch().budget(f64::NAN), "the budget NaN"),
    ];
    for (batch, named) in refused {
        let Err(error) = batch.dispatcher().await else { panic!("{named} is not refused") };
        assert_eq!(error.kind(), ErrorKind::State);
        assert!(error.to_string().contains(named), "{error}");
    }
    assert_eq!(all(&ledger).await.len(), 0);
    let elsewhere = Fixture::new(Backend::Sqlite).await;
    fixture.batch(&ledger).check_service().await.unwrap();
    let elsewhere = Batch::open(elsewhere.client(), ledger.clone()).unwrap().jobs(jobs(1));
    let Err(error) = elsewhere.dispatcher().await else { panic!("another service is not refused") };
    assert_eq!(error.kind(), ErrorKind::Elsewhere);
    assert_eq!(all(&ledger).await.len(), 0);
}
