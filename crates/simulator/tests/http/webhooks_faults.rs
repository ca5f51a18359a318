//! Faults of webhooks: duplicates, delays, another order, and forgeries.

use std::time::Duration;

use serde_json::json;

use super::{
    bench::Bench,
    webhook_receiver::{Hit, Receiver, response},
    webhooks::{SECOND, hmac_sha256, settled},
};
use imagekiln_simulator::{Config, WebhookCause, WebhookDelivery, WebhookState};

/// The operations, whose tasks end after 1, 2, 3 and 4 seconds.
const ENDING_AFTER: [&str; 4] = ["gen-2-pro", "gen-2-flex", "gen-2-klein-9b", "gen-2-klein-4b"];

/// A simulator with a stopped clock.
async fn bench() -> Bench {
    let times = ENDING_AFTER.iter().zip(1..);
    let ready_after_of =
        times.map(|(operation, second)| ((*operation).to_owned(), second * SECOND)).collect();
    Bench::with(Config { ready_after_of, speed: 0.0, ..Config::default() }).await
}

/// Submits a task that ends after this many seconds. Returns its id.
async fn submit(bench: &Bench, receiver: &Receiver, seconds: usize, prompt: &str) -> String {
    let body = json!({ "prompt": prompt, "width": 64, "height": 64,
        "webhook_url": receiver.url(), "webhook_secret": "s3cret" });
    let path = format!("/v1/{}", ENDING_AFTER[seconds - 1]);
    bench.submit(&path, &body).await["id"].as_str().unwrap().to_owned()
}

fn is_genuine(hit: &Hit) -> bool {
    let expected = format!("sha256={}", hmac_sha256(b"s3cret", &hit.body));
    hit.header("x-webhook-signature") == Some(expected.as_str())
}

fn causes_and_times(log: &[WebhookDelivery]) -> Vec<(WebhookCause, Duration)> {
    log.iter().map(|delivery| (delivery.cause, delivery.attempts[0].at)).collect()
}

#[tokio::test]
async fn a_duplicate_is_the_same_webhook_twice() {
    let (bench, mut receiver) = (bench().await, Receiver::start().await);
    submit(&bench, &receiver, 1, "[[webhook-duplicate]]").await;
    bench.sim.clock().advance(SECOND);
    let (first, second) = (receiver.respond_with(200).await, receiver.respond_with(200).await);
    assert_eq!((&first.body, &first.headers), (&second.body, &second.headers));
    let log = settled(&bench.sim).await;
    assert_eq!(
        causes_and_times(&log),
        [(WebhookCause::Final, SECOND), (WebhookCause::Duplicate, SECOND)]
    );
    assert_eq!(log[0].webhook_id, log[1].webhook_id);
    assert_eq!(bench.sim.counts().faults["webhook-duplicate"], 1);
}

#[tokio::test]
async fn a_late_webhook_is_sent_after_its_delay() {
    let (bench, mut receiver) = (bench().await, Receiver::start().await);
    let late = submit(&bench, &receiver, 1, "[[webhook-late=20]]").await;
    let in_time = submit(&bench, &receiver, 2, "a fox").await;
    bench.sim.clock().advance(2 * SECOND);
    assert_eq!(receiver.respond_with(200).await.json()["id"], in_time);
    bench.sim.clock().advance_to(21 * SECOND);
    assert_eq!(receiver.respond_with(200).await.json()["id"], late);
    assert_eq!(
        causes_and_times(&settled(&bench.sim).await),
        [(WebhookCause::Final, 21 * SECOND), (WebhookCause::Final, 2 * SECOND)]
    );
}

#[tokio::test]
async fn an_out_of_order_webhook_is_sent_after_that_of_a_later_task() {
    let (bench, mut receiver, mut other) =
        (bench().await, Receiver::start().await, Receiver::start().await);
    let held = submit(&bench, &receiver, 2, "[[webhook-out-of-order]]").await;
    let earlier = submit(&bench, &receiver, 1, "a fox").await;
    let elsewhere = submit(&bench, &other, 3, "a fox").await;
    let later = submit(&bench, &receiver, 4, "a fox").await;
    bench.sim.clock().advance_to(3 * SECOND);
    assert_eq!(receiver.respond_with(200).await.json()["id"], earlier);
    assert_eq!(other.respond_with(200).await.json()["id"], elsewhere);
    let delivered = |one: &&WebhookDelivery| one.state == WebhookState::Delivered;
    bench.sim.webhooks_when(|all| all.iter().filter(delivered).count() == 2).await;
    bench.sim.clock().advance_to(4 * SECOND);
    let failed = receiver.respond_with(500).await;
    assert_eq!(failed.json()["id"], later, "sent, although the receiver failed");
    assert_eq!(receiver.respond_with(200).await.json()["id"], held);
    let log = bench.sim.webhooks_when(|all| all[0].state == WebhookState::Delivered).await;
    assert_eq!(log[0].attempts[0].at, 4 * SECOND);
}

#[tokio::test]
async fn a_webhook_is_not_held_back_forever() {
    let (bench, mut receiver) = (bench().await, Receiver::start().await);
    let held = submit(&bench, &receiver, 1, "[[webhook-out-of-order]]").await;
    bench.sim.clock().advance_to(31 * SECOND);
    assert_eq!(receiver.respond_with(200).await.json()["id"], held);
    assert_eq!(causes_and_times(&settled(&bench.sim).await), [(WebhookCause::Final, 31 * SECOND)]);
}

#[tokio::test]
async fn a_late_webhook_that_is_held_back_is_not_sent_early() {
    let (bench, mut receiver) = (bench().await, Receiver::start().await);
    bench.sim.faults().add("webhook-out-of-order:once").unwrap();
    let faults = "[[webhook-late=10:2x]] [[webhook-duplicate]] [[html-502@poll]]";
    let held = submit(&bench, &receiver, 1, faults).await;
    submit(&bench, &receiver, 2, "a fox").await;
    bench.sim.clock().advance_to(2 * SECOND);
    receiver.respond_with(200).await;
    bench.sim.webhooks_when(|all| all[0].due_at == 11 * SECOND).await;
    bench.sim.clock().advance_to(11 * SECOND);
    for _ in 0..2 {
        assert_eq!(receiver.respond_with(200).await.json()["id"], held);
    }
    let log = settled(&bench.sim).await;
    assert_eq!(causes_and_times(&log)[0], (WebhookCause::Final, 11 * SECOND));
    let applied = ["webhook-duplicate", "webhook-late", "webhook-out-of-order"];
    assert_eq!(bench.sim.counts().faults, applied.map(|fault| (fault, 1)).into());
}

#[tokio::test]
async fn a_forgery_claims_another_status_and_fails_verification() {
    let (bench, mut receiver) = (bench().await, Receiver::start().await);
    for (words, status, forged) in
        [("a fox", "Ready", "Error"), ("[[content-moderated]]", "Content Moderated", "Ready")]
    {
        submit(&bench, &receiver, 1, &format!("{words} [[webhook-forged]]")).await;
        bench.sim.clock().advance(SECOND);
        let mut hits = Vec::new();
        for _ in 0..2 {
            let hit = receiver.hit().await;
            let verified = is_genuine(&hit);
            hits.push((verified, hit.json()));
            hit.respond(response(if verified { 200 } else { 401 }));
        }
        hits.sort_by_key(|(verified, _)| *verified);
        let [(false, forgery), (true, genuine)] = &hits[..] else { panic!("{hits:?}") };
        assert_eq!((&forgery["status"], &genuine["status"]), (&json!(forged), &json!(status)));
        assert_eq!(forgery["id"], genuine["id"]);
        let sample = forgery["result"]["sample"].as_str();
        assert_eq!(sample.is_some_and(|url| url.contains(".invalid/")), forged == "Ready");
    }
    let log = settled(&bench.sim).await;
    let states: Vec<_> =
        log[..2].iter().map(|one| (one.cause, one.state, one.attempts.len())).collect();
    assert_eq!(
        states,
        [
            (WebhookCause::Forgery, WebhookState::GivenUp, 1),
            (WebhookCause::Final, WebhookState::Delivered, 1),
        ],
        "a forgery is not retried"
    );
    assert_eq!(log[0].webhook_id, log[1].webhook_id);

    // Redelivered on demand, it is still a forgery.
    let again = bench.sim.redeliver_webhook(log[0].id).unwrap();
    assert!(!is_genuine(&receiver.respond_with(401).await));
    let log = settled(&bench.sim).await;
    assert_eq!(log.last().map(|one| (one.id, one.cause)), Some((again, WebhookCause::Forgery)));
}
