//! Jobs of a queue whose responses were lost.

use std::time::Duration;

use imagekiln_batch::{Batch, Dispatcher, ErrorKind, JobState, Resolution, Scope};
use imagekiln_testbed::Trial;

use super::{ended, later};
use crate::{
    support::{Backend, Fixture, both, job, jobs, state},
    webhooks::delivery,
};

pub fn tests() -> Vec<Vec<Trial>> {
    vec![
        both(an_unknown_job_continues_after_a_webhook),
        both(a_webhook_opens_a_job_that_was_resolved),
        both(an_unknown_job_continues_after_a_decision),
        both(a_submission_whose_outcome_was_not_recorded_becomes_unknown),
    ]
}

/// While a webhook may arrive.
const SOONER: Duration = Duration::from_secs(30);
/// While only a person decides.
const LATER: Duration = Duration::from_secs(60);

/// A dispatcher whose only job is unknown, although the service accepted it.
async fn with_lost_job(fixture: &Fixture, batch: Batch) -> Dispatcher {
    fixture.simulator.faults().add("reply-lost:once").unwrap();
    batch.jobs(jobs(1)).dispatcher().await.unwrap()
}

async fn an_unknown_job_continues_after_a_webhook(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let batch = fixture.batch(&ledger).callback_url("http://127.0.0.1:9/hooks");
    let callbacks = batch.callbacks();
    let patient = batch.callback_patience(Duration::from_secs(100_000));
    let dispatcher = with_lost_job(&fixture, patient).await;
    for _ in 0..2 {
        assert_eq!(later(dispatcher.advance("0").await.unwrap()), SOONER);
        assert_eq!(state(&ledger, "0").await, JobState::Unknown);
    }
    let (token, event) = delivery(&fixture);
    callbacks.receive(&token, &event).await.unwrap();
    assert_eq!(ended(dispatcher.advance("0").await.unwrap()), JobState::Saved);
    assert_eq!(fixture.accepted(), 1);
}

/// The queue has removed the job, so the program watches the ledger.
async fn a_webhook_opens_a_job_that_was_resolved(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let batch = fixture.batch(&ledger).callback_url("http://127.0.0.1:9/hooks");
    let callbacks = batch.callbacks();
    let impatient = batch.callback_patience(Duration::ZERO);
    let dispatcher = with_lost_job(&fixture, impatient).await;
    assert_eq!(later(dispatcher.advance("0").await.unwrap()), LATER);
    ledger.jobs().resolve("0", Resolution::Paid).await.unwrap();
    assert_eq!(ended(dispatcher.advance("0").await.unwrap()), JobState::Failed);
    let mut watch = ledger.jobs().watch().await.unwrap();
    let (token, event) = delivery(&fixture);
    callbacks.receive(&token, &event).await.unwrap();
    let opened = watch.changed().await.unwrap().remove(0);
    assert_eq!((&*opened.name, opened.state), ("0", JobState::Submitted));
    assert_eq!(ended(dispatcher.advance(&opened.name).await.unwrap()), JobState::Saved);
    assert_eq!(fixture.accepted(), 1);
}

async fn an_unknown_job_continues_after_a_decision(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let dispatcher = with_lost_job(&fixture, fixture.batch(&ledger)).await;
    let person = fixture.another(&ledger).await;
    assert_eq!(later(dispatcher.advance("0").await.unwrap()), LATER);
    assert_eq!(later(dispatcher.advance("0").await.unwrap()), LATER);
    // The person finds the task in the usage of the service.
    let task = fixture.simulator.tasks().remove(0).id;
    fixture.batch(&person).resolve_with_task("0", &task).await.unwrap();
    assert_eq!(ended(dispatcher.advance("0").await.unwrap()), JobState::Saved);
    assert_eq!(fixture.accepted(), 1);

    fixture.simulator.faults().add("error-before@submission:2x").unwrap();
    ledger.jobs().add([job("paid", "a paid fox"), job("unpaid", "a fox")]).await.unwrap();
    for (name, resolution) in [("paid", Resolution::Paid), ("unpaid", Resolution::NotPaid)] {
        assert_eq!(later(dispatcher.advance(name).await.unwrap()), LATER);
        person.jobs().resolve(name, resolution).await.unwrap();
    }
    assert_eq!(ended(dispatcher.advance("paid").await.unwrap()), JobState::Failed);
    // Three responses in a row were lost, so submissions pause.
    person.limits().unpause(Scope::Ledger).await.unwrap();
    assert_eq!(ended(dispatcher.advance("unpaid").await.unwrap()), JobState::Saved);
    assert_eq!(fixture.accepted(), 2);
}

/// The database failed for a while.
async fn a_submission_whose_outcome_was_not_recorded_becomes_unknown(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let dispatcher = with_lost_job(&fixture, fixture.batch(&ledger)).await;
    assert_eq!(later(dispatcher.advance("0").await.unwrap()), LATER);
    let unrecorded = "UPDATE imagekiln.jobs SET state = 'submitting', reason = NULL,
        worker = (SELECT MAX(id) FROM imagekiln.workers)";
    fixture.execute(unrecorded).await;
    later(dispatcher.advance("0").await.unwrap());
    assert_eq!(state(&ledger, "0").await, JobState::Unknown);
    // The request may still be on its way.
    let error = ledger.jobs().resolve("0", Resolution::NotPaid).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Hold, "{error}");
    assert_eq!(later(dispatcher.advance("0").await.unwrap()), LATER);
    assert_eq!(fixture.accepted(), 1);
}
