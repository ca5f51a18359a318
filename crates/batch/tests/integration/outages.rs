//! What one process knows about an outage of the service holds for all processes of its ledger.

use imagekiln::{
    Billing, Client, Unfinished,
    journal::{Intent, Journal as _},
    types::Gen2Pro,
};
use imagekiln_batch::{Advanced, ErrorKind, JobState, Scope};
use imagekiln_testbed::Trial;
use serde_json::json;

use crate::{
    control::refusal,
    support::{Backend, Fixture, both, jobs},
};

pub fn tests() -> Vec<Vec<Trial>> {
    vec![
        both(a_refusal_in_one_process_pauses_the_others),
        both(lost_responses_in_one_process_pause_the_others),
        both(the_task_of_a_lost_submission_ends_an_outage),
        both(a_probe_whose_transaction_is_repeated_ends_the_outage),
    ]
}

/// The service accepts three submissions, whose responses are lost.
async fn lose_three(fixture: &Fixture, client: &Client) {
    fixture.simulator.faults().add("error-after@submission:3x").unwrap();
    for _ in 0..3 {
        let error = client.submit(Gen2Pro::new("a fox")).await.unwrap_err();
        assert_eq!(error.billing(), Billing::Unknown, "{error}");
    }
}

async fn a_refusal_in_one_process_pauses_the_others(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let other = fixture.another(&ledger).await;
    let wrong = fixture.batch_of(fixture.client().api_key("wrong"), &ledger);
    let mut wrong = wrong.jobs(jobs(9));
    assert_eq!(wrong.run().await.unwrap_err().kind(), ErrorKind::Outage);

    // A minute without a probe.
    fixture.execute("UPDATE imagekiln.outages SET until = until + 60000").await;
    let outage = other.limits().outages().await.unwrap().pop().unwrap();
    // On a busy machine, the first probe was refused, too.
    assert!(outage.kind == "auth" && outage.pauses >= 1, "{outage:?}");
    let client = fixture.client().journal(other.clone()).build().unwrap();
    let refused = client.submit(Gen2Pro::new("a fox")).await.unwrap_err();
    let refusal = refusal(&refused);
    assert_eq!(refusal.kind(), ErrorKind::Outage, "{refusal}");
    assert!(refusal.to_string().contains("403"), "{refusal}");
    let dispatcher = fixture.batch(&other).dispatcher().await.unwrap();
    let Advanced::Later(_) = dispatcher.advance("0").await.unwrap() else { panic!() };
    dispatcher.finish().await.unwrap();
    assert_eq!(fixture.accepted(), 0);

    other.limits().unpause(Scope::Ledger).await.unwrap();
    let _task = client.submit(Gen2Pro::new("a fox")).await.unwrap();
    assert_eq!(ledger.limits().outages().await.unwrap(), []);
    assert_eq!(fixture.batch(&ledger).run().await.unwrap().count(JobState::Saved), 9);
}

async fn lost_responses_in_one_process_pause_the_others(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let other = fixture.another(&ledger).await;
    let client = fixture.client().journal(ledger.clone()).build().unwrap();
    lose_three(&fixture, &client).await;
    let outage = other.limits().outages().await.unwrap().pop().unwrap();
    assert_eq!((outage.kind.as_str(), outage.pauses), ("outage", 1));

    // The first job of another process is the probe.
    let report = fixture.batch(&other).jobs(jobs(12)).run().await.unwrap();
    assert_eq!((report.count(JobState::Saved), fixture.accepted()), (12, 12 + 3));
    assert_eq!(ledger.limits().outages().await.unwrap(), []);
}

async fn the_task_of_a_lost_submission_ends_an_outage(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let client = fixture.client().journal(ledger.clone()).build().unwrap();
    lose_three(&fixture, &client).await;
    assert!(!ledger.limits().outages().await.unwrap().is_empty());
    let unfinished = client.resume().await.unwrap();
    let Some(Unfinished::Unknown(record)) = unfinished.into_iter().next() else { panic!() };
    let task = fixture.simulator.tasks().remove(0).id;
    let _task = client.adopt(&record, &task).await.unwrap();
    assert_eq!(ledger.limits().outages().await.unwrap(), []);
}

/// The database committed the transaction of the probe, but the connection broke before it said so.
async fn a_probe_whose_transaction_is_repeated_ends_the_outage(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let other = fixture.another(&ledger).await;
    lose_three(&fixture, &fixture.client().journal(ledger.clone()).build().unwrap()).await;
    fixture.execute("UPDATE imagekiln.outages SET until = 0").await;
    let probe = json!({ "id": "probe", "operation": "gen-2-pro", "at": 1_796_000_000 });
    let probe: Intent = serde_json::from_value(probe).unwrap();
    ledger.intend(&probe).await.unwrap();
    other.intend(&probe).await.unwrap();
    other.ended(&probe, None).await.unwrap();
    assert_eq!(ledger.limits().outages().await.unwrap(), []);
}
