//! Tests of webhook faults, with a receiver on loopback.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::sync::watch;

use super::*;
use crate::webhooks::receiver_for_tests::Receiver;

const SECOND: Duration = Duration::from_secs(1);

/// Webhooks on a stopped clock, sent until this is dropped.
struct Bench {
    webhooks: Arc<Webhooks>,
    clock: Clock,
    _stop: watch::Sender<bool>,
}

impl Bench {
    fn new() -> Self {
        let clock = Clock::start(0.0);
        let webhooks =
            Arc::new(Webhooks::new(WebhookSettings::default(), clock.clone(), Chance::new(0)));
        let stop = watch::Sender::new(false);
        tokio::spawn(run(Arc::clone(&webhooks), stop.subscribe()));
        Self { webhooks, clock, _stop: stop }
    }

    /// Queues the webhook of a task that ends after `final_at` seconds.
    fn send(&self, receiver: &Receiver, task: &str, final_at: u32, faults: WebhookFaults) {
        self.webhooks.enqueue(Webhook {
            task: task.to_owned(),
            url: receiver.url(),
            secret: Some("secret".into()),
            final_at: final_at * SECOND,
            result: json!({
                "id": task,
                "status": "Ready",
                "result": { "sample": "http://127.0.0.1/a" },
            }),
            faults,
        });
    }

    /// The deliveries, once none is pending.
    async fn settled(&self) -> Vec<WebhookDelivery> {
        let settled =
            |all: &[WebhookDelivery]| all.iter().all(|one| one.state != WebhookState::Waiting);
        self.webhooks.views_when(settled).await
    }
}

fn is_genuine(hit: &crate::webhooks::receiver_for_tests::Hit) -> bool {
    let Ok(SigningKey::Keyed(key)) = SigningKey::new(WebhookScheme::HmacSha256, Some("secret"))
    else {
        return false;
    };
    let expected = hmac::Mac::finalize(hmac::Mac::chain_update(key, &hit.body)).into_bytes();
    hit.header("x-webhook-signature") == Some(format!("sha256={}", hex(&expected)).as_str())
}

fn causes_and_times(log: &[WebhookDelivery]) -> Vec<(WebhookCause, u64)> {
    log.iter().map(|delivery| (delivery.cause, delivery.attempts[0].at.as_secs())).collect()
}

#[tokio::test]
async fn a_duplicate_is_the_same_webhook_twice() {
    let (bench, mut receiver) = (Bench::new(), Receiver::start().await);
    bench.send(&receiver, "a", 1, WebhookFaults { duplicate: true, ..WebhookFaults::default() });
    bench.clock.advance(SECOND);
    let (first, second) = (receiver.respond_with(200).await, receiver.respond_with(200).await);
    assert_eq!((&first.body, &first.headers), (&second.body, &second.headers));
    let log = bench.settled().await;
    assert_eq!(causes_and_times(&log), [(WebhookCause::Final, 1), (WebhookCause::Duplicate, 1)]);
    assert_eq!(log[0].webhook_id, log[1].webhook_id);
}

#[tokio::test]
async fn a_late_webhook_is_sent_after_its_delay() {
    let (bench, mut receiver) = (Bench::new(), Receiver::start().await);
    bench.send(
        &receiver,
        "late",
        1,
        WebhookFaults { late: 20 * SECOND, ..WebhookFaults::default() },
    );
    bench.send(&receiver, "in time", 2, WebhookFaults::default());
    bench.clock.advance(2 * SECOND);
    assert_eq!(receiver.respond_with(200).await.json()["id"], "in time");
    bench.clock.advance_to(21 * SECOND);
    assert_eq!(receiver.respond_with(200).await.json()["id"], "late");
    assert_eq!(
        causes_and_times(&bench.settled().await),
        [(WebhookCause::Final, 21), (WebhookCause::Final, 2)]
    );
}

#[tokio::test]
async fn an_out_of_order_webhook_is_sent_after_that_of_a_later_task() {
    let (bench, mut receiver, mut other) =
        (Bench::new(), Receiver::start().await, Receiver::start().await);
    bench.send(
        &receiver,
        "held",
        2,
        WebhookFaults { out_of_order: true, ..WebhookFaults::default() },
    );
    bench.send(&receiver, "earlier", 1, WebhookFaults::default());
    bench.send(&other, "elsewhere", 3, WebhookFaults::default());
    bench.send(&receiver, "later", 4, WebhookFaults::default());
    bench.clock.advance_to(3 * SECOND);
    assert_eq!(receiver.respond_with(200).await.json()["id"], "earlier");
    assert_eq!(other.respond_with(200).await.json()["id"], "elsewhere");
    bench
        .webhooks
        .views_when(|all| {
            all.iter().filter(|one| one.state == WebhookState::Delivered).count() == 2
        })
        .await;
    bench.clock.advance_to(4 * SECOND);
    assert_eq!(
        receiver.respond_with(500).await.json()["id"],
        "later",
        "sent, although the receiver failed"
    );
    assert_eq!(receiver.respond_with(200).await.json()["id"], "held");
    let log = bench.webhooks.views_when(|all| all[0].state == WebhookState::Delivered).await;
    assert_eq!(log[0].attempts[0].at, 4 * SECOND);
}

#[tokio::test]
async fn a_webhook_is_not_held_back_forever() {
    let (bench, mut receiver) = (Bench::new(), Receiver::start().await);
    bench.send(
        &receiver,
        "held",
        1,
        WebhookFaults { out_of_order: true, ..WebhookFaults::default() },
    );
    bench.clock.advance_to(31 * SECOND);
    assert_eq!(receiver.respond_with(200).await.json()["id"], "held");
    assert_eq!(causes_and_times(&bench.settled().await), [(WebhookCause::Final, 31)]);
}

#[tokio::test]
async fn a_late_webhook_that_is_held_back_is_not_sent_early() {
    let (bench, mut receiver) = (Bench::new(), Receiver::start().await);
    bench.send(
        &receiver,
        "held",
        1,
        WebhookFaults { out_of_order: true, late: 10 * SECOND, ..WebhookFaults::default() },
    );
    bench.send(&receiver, "later", 2, WebhookFaults::default());
    bench.clock.advance_to(2 * SECOND);
    receiver.respond_with(200).await;
    bench.webhooks.views_when(|all| all[0].due_at == 11 * SECOND).await;
    bench.clock.advance_to(11 * SECOND);
    assert_eq!(receiver.respond_with(200).await.json()["id"], "held");
    assert_eq!(causes_and_times(&bench.settled().await)[0], (WebhookCause::Final, 11));
}

#[tokio::test]
async fn a_forgery_claims_another_status_and_fails_verification() {
    let (bench, mut receiver) = (Bench::new(), Receiver::start().await);
    bench.send(&receiver, "a", 1, WebhookFaults { forged: true, ..WebhookFaults::default() });
    bench.clock.advance(SECOND);
    let mut genuine = Vec::new();
    for _ in 0..2 {
        let hit = receiver.hit().await;
        let verified = is_genuine(&hit);
        genuine.push((verified, hit.json()["status"].clone()));
        hit.respond(crate::webhooks::receiver_for_tests::response(if verified {
            200
        } else {
            401
        }));
    }
    genuine.sort_by_key(|(verified, _)| *verified);
    assert_eq!(genuine, [(false, json!("Error")), (true, json!("Ready"))]);
    let log = bench.settled().await;
    assert_eq!(causes_and_times(&log), [(WebhookCause::Forgery, 1), (WebhookCause::Final, 1)]);
    let states: Vec<_> =
        log.iter().map(|delivery| (delivery.state, delivery.attempts.len())).collect();
    assert_eq!(
        states,
        [(WebhookState::GivenUp, 1), (WebhookState::Delivered, 1)],
        "a forgery is not retried"
    );
    assert_eq!(log[0].webhook_id, log[1].webhook_id);

    // Redelivered on demand, it is still a forgery.
    let again = bench.webhooks.redeliver(log[0].id).unwrap();
    let hit = receiver.respond_with(401).await;
    assert!(!is_genuine(&hit));
    assert_eq!(
        bench.settled().await.last().map(|one| (one.id, one.cause)),
        Some((again, WebhookCause::Forgery))
    );
}

#[test]
fn a_forgery_of_a_failure_claims_success() {
    let failed = json!({ "id": "a", "status": "Content Moderated" });
    let forged: Value = another(&failed);
    assert_eq!((&forged["id"], &forged["status"]), (&json!("a"), &json!("Ready")));
    assert!(forged["result"]["sample"].as_str().unwrap().contains(".invalid/"));
}
