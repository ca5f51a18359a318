//! Webhooks that go wrong on purpose, as a receiver on loopback sees them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;

use super::*;
use crate::webhooks::receiver_for_tests::Receiver;

const SECOND: Duration = Duration::from_secs(1);

/// Webhooks by a clock that stands still, sent until this is dropped.
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

    /// The webhook of a task that is final after so many seconds.
    fn send(&self, receiver: &Receiver, task: &str, final_at: u32, twist: Twist) {
        self.webhooks.enqueue(Webhook {
            task: task.to_owned(),
            url: receiver.url(),
            secret: Some("secret".to_owned()),
            final_at: final_at * SECOND,
            result: json!({ "id": task, "status": "Ready", "result": { "sample": "http://127.0.0.1/a" } }),
            twist,
        });
    }

    /// The deliveries, once none of them waits any more.
    async fn settled(&self) -> Vec<WebhookDelivery> {
        let settled =
            |all: &[WebhookDelivery]| all.iter().all(|one| one.state != WebhookState::Waiting);
        self.webhooks.views_when(settled).await
    }
}

fn is_genuine(hit: &crate::webhooks::receiver_for_tests::Hit) -> bool {
    let Ok(Seal::Keyed(key)) = Seal::new(WebhookScheme::HmacSha256, Some("secret")) else {
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
    bench.send(&receiver, "a", 1, Twist { duplicate: true, ..Twist::default() });
    bench.clock.advance(SECOND);
    let (first, second) = (receiver.answer(200).await, receiver.answer(200).await);
    assert_eq!((&first.body, &first.headers), (&second.body, &second.headers));
    let log = bench.settled().await;
    assert_eq!(causes_and_times(&log), [(WebhookCause::Final, 1), (WebhookCause::Duplicate, 1)]);
    assert_eq!(log[0].webhook_id, log[1].webhook_id);
}

#[tokio::test]
async fn a_late_webhook_comes_so_much_later() {
    let (bench, mut receiver) = (Bench::new(), Receiver::start().await);
    bench.send(&receiver, "late", 1, Twist { late: 20 * SECOND, ..Twist::default() });
    bench.send(&receiver, "in time", 2, Twist::default());
    bench.clock.advance(2 * SECOND);
    assert_eq!(receiver.answer(200).await.json()["id"], "in time");
    bench.clock.advance_to(21 * SECOND);
    assert_eq!(receiver.answer(200).await.json()["id"], "late");
    assert_eq!(
        causes_and_times(&bench.settled().await),
        [(WebhookCause::Final, 21), (WebhookCause::Final, 2)]
    );
}

#[tokio::test]
async fn out_of_order_means_after_a_later_tasks() {
    let (bench, mut receiver, mut other) =
        (Bench::new(), Receiver::start().await, Receiver::start().await);
    bench.send(&receiver, "held", 2, Twist { out_of_order: true, ..Twist::default() });
    bench.send(&receiver, "earlier", 1, Twist::default());
    bench.send(&other, "elsewhere", 3, Twist::default());
    bench.send(&receiver, "later", 4, Twist::default());
    bench.clock.advance_to(3 * SECOND);
    assert_eq!(receiver.answer(200).await.json()["id"], "earlier");
    assert_eq!(other.answer(200).await.json()["id"], "elsewhere");
    bench
        .webhooks
        .views_when(|all| {
            all.iter().filter(|one| one.state == WebhookState::Delivered).count() == 2
        })
        .await;
    bench.clock.advance_to(4 * SECOND);
    assert_eq!(receiver.answer(500).await.json()["id"], "later", "gone out, even if not taken");
    assert_eq!(receiver.answer(200).await.json()["id"], "held");
    let log = bench.webhooks.views_when(|all| all[0].state == WebhookState::Delivered).await;
    assert_eq!(log[0].attempts[0].at, 4 * SECOND);
}

#[tokio::test]
async fn what_is_held_back_goes_out_in_the_end() {
    let (bench, mut receiver) = (Bench::new(), Receiver::start().await);
    bench.send(&receiver, "held", 1, Twist { out_of_order: true, ..Twist::default() });
    bench.clock.advance_to(31 * SECOND);
    assert_eq!(receiver.answer(200).await.json()["id"], "held");
    assert_eq!(causes_and_times(&bench.settled().await), [(WebhookCause::Final, 31)]);
}

#[tokio::test]
async fn a_late_one_that_is_held_back_is_not_sent_before_its_time() {
    let (bench, mut receiver) = (Bench::new(), Receiver::start().await);
    bench.send(
        &receiver,
        "held",
        1,
        Twist { out_of_order: true, late: 10 * SECOND, ..Twist::default() },
    );
    bench.send(&receiver, "later", 2, Twist::default());
    bench.clock.advance_to(2 * SECOND);
    receiver.answer(200).await;
    bench.webhooks.views_when(|all| all[0].due_at == 11 * SECOND).await;
    bench.clock.advance_to(11 * SECOND);
    assert_eq!(receiver.answer(200).await.json()["id"], "held");
    assert_eq!(causes_and_times(&bench.settled().await)[0], (WebhookCause::Final, 11));
}

#[tokio::test]
async fn a_forgery_claims_another_status_and_fails_verification() {
    let (bench, mut receiver) = (Bench::new(), Receiver::start().await);
    bench.send(&receiver, "a", 1, Twist { forged: true, ..Twist::default() });
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
        "a forgery is not repeated"
    );
    assert_eq!(log[0].webhook_id, log[1].webhook_id);

    // Sent again on demand, it is what it was.
    let again = bench.webhooks.redeliver(log[0].id).unwrap();
    let hit = receiver.answer(401).await;
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
