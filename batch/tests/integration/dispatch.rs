//! Jobs that a queue of the program delivers.

use std::{collections::VecDeque, time::Duration};

use imagekiln_batch::{Advanced, Dispatcher, ErrorKind, Filter, JobState, Ledger, Scope};
use imagekiln_testbed::Trial;
use tokio::time;

use crate::support::{Backend, Fixture, PRICE, assert_equal, both, job, jobs, state};

pub fn tests() -> Vec<Trial> {
    let tests = [
        both(a_queue_that_delivers_everything_twice_pays_once),
        both(a_dispatcher_that_lost_its_lease_continues),
        both(a_limit_holds_back_what_a_queue_delivers),
        both(a_queue_is_filled_again_from_the_ledger),
    ];
    tests.into_iter().flatten().collect()
}

async fn dispatcher(fixture: &Fixture, ledger: &Ledger) -> Dispatcher {
    fixture.batch(ledger).dispatcher().await.unwrap()
}

/// A queue in memory: delivers the names until their jobs have ended.
async fn deliver(dispatcher: &Dispatcher, names: impl IntoIterator<Item = String>) {
    let mut queue: VecDeque<_> = names.into_iter().collect();
    while let Some(name) = queue.pop_front() {
        match dispatcher.advance(&name).await.unwrap() {
            Advanced::Later(after) => {
                time::sleep(after).await;
                queue.push_back(name);
            }
            Advanced::Ended(job) => assert_eq!(job.state, JobState::Saved),
            other => panic!("{other:?}"),
        }
    }
}

async fn a_queue_that_delivers_everything_twice_pays_once(backend: Backend) {
    let fixture = Fixture::new(backend).await;
    let ledger = fixture.ledger().await;
    ledger.add(jobs(6)).await.unwrap();
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
    let fixture = Fixture::new(backend).await;
    let ledger = fixture.ledger().await;
    let one = fixture.batch(&ledger).jobs(jobs(3)).dispatcher().await.unwrap();
    deliver(&one, ["0".to_owned()]).await;
    fixture.execute("UPDATE imagekiln.workers SET lease_until = 0").await;
    let other = dispatcher(&fixture, &fixture.another(&ledger).await).await;
    // It notices when it renews its lease.
    time::sleep(Duration::from_secs(11)).await;
    deliver(&one, ["1".to_owned()]).await;
    deliver(&other, ["2".to_owned()]).await;
    assert_equal(fixture.charged(), 3.0 * PRICE);
}

async fn a_limit_holds_back_what_a_queue_delivers(backend: Backend) {
    let fixture = Fixture::new(backend).await;
    let ledger = fixture.ledger().await;
    ledger.add([job("fox", "a fox").group("anna")]).await.unwrap();
    let dispatcher = dispatcher(&fixture, &ledger).await;
    let anna = Scope::Group("anna".to_owned());
    ledger.pause(anna.clone()).await.unwrap();
    assert!(matches!(dispatcher.advance("fox").await.unwrap(), Advanced::Later(_)));
    ledger.set_budget(anna.clone(), Some(1.0)).await.unwrap();
    ledger.resume(anna.clone()).await.unwrap();
    // The price of the first job of an operation is not known.
    ledger.add([job("wolf", "a wolf")]).await.unwrap();
    deliver(&dispatcher, ["wolf".to_owned()]).await;
    assert!(matches!(dispatcher.advance("fox").await.unwrap(), Advanced::Later(_)));
    assert_eq!((state(&ledger, "fox").await, fixture.accepted()), (JobState::Queued, 1));
    ledger.set_budget(anna, None).await.unwrap();
    deliver(&dispatcher, ["fox".to_owned()]).await;
    assert_eq!(fixture.accepted(), 2);
    dispatcher.finish().await.unwrap();
}

async fn a_queue_is_filled_again_from_the_ledger(backend: Backend) {
    let fixture = Fixture::new(backend).await;
    let ledger = fixture.ledger().await;
    ledger.add(jobs(4)).await.unwrap();
    let lost = dispatcher(&fixture, &ledger).await;
    deliver(&lost, ["2".to_owned()]).await;
    // The process ends, and the queue has lost everything.
    drop(lost);
    let ledger = fixture.reopen(ledger).await;
    let open = [JobState::Queued, JobState::Submitted, JobState::Ready];
    let open = ledger.list(&Filter::all().states(open), 0, 100).await.unwrap();
    assert_eq!(open.len(), 3);
    let next = dispatcher(&fixture, &ledger).await;
    deliver(&next, open.into_iter().map(|job| job.name)).await;
    assert_equal(fixture.charged(), 4.0 * PRICE);
}
