//! The log of webhooks: what it shows, what it hides, and redelivery.

use serde_json::Value;

use super::{
    bench::Bench,
    trace::Trace,
    webhooks::{SECOND, bench, settled, signed, start, submit},
};
use imagekiln_simulator::{WebhookCause, WebhookDelivery, WebhookState};

fn body(url: &str) -> Value {
    signed(url, "hidden-secret")
}

#[tokio::test]
async fn the_log_and_the_trace_contain_no_secrets() {
    let trace = Trace::start();
    for scheme in ["hmac-sha256", "secret", "standard"] {
        let (bench, mut receiver) = start(&format!("scheme = '{scheme}'\nretry_after = []")).await;
        let url = format!(
            "http://me:hidden-word@{}/hook?token=hidden-token#hidden-part",
            receiver.address
        );
        for (url, status) in
            [(&*url, Some(200)), (&url, Some(500)), ("http://example.com?hidden-token", None)]
        {
            submit(&bench, &body(url)).await;
            bench.sim.clock().advance(SECOND);
            if let Some(status) = status {
                let hit = receiver.respond_with(status).await;
                assert_eq!(hit.path_and_query, "/hook?token=hidden-token");
                assert_eq!(hit.header("authorization"), None);
            }
        }
        let log = settled(&bench.sim).await;
        let header = &log[0].headers.last().unwrap().1;
        match scheme {
            "secret" => assert_eq!(header, "[redacted]"),
            _ => assert!(header.starts_with("sha256=") || header.starts_with("v1,"), "{header}"),
        }
        let shown = format!("{log:?} {} {:?}", serde_json::to_string(&log).unwrap(), bench.sim);
        assert!(!shown.contains("hidden"), "{shown}");
        assert!(!format!("{log:?}").contains("signature="), "Debug must not contain signed URLs");
    }
    let lines = trace.lines();
    for expected in ["webhook delivered", "webhook failed", "webhook refused", "/hook"] {
        assert!(lines.contains(expected), "{expected}: {lines}");
    }
    for secret in ["hidden", "signature="] {
        assert!(!lines.contains(secret), "{lines}");
    }
}

#[tokio::test]
async fn a_webhook_can_be_sent_again_on_demand() {
    let (bench, mut receiver) = start("scheme = 'standard'").await;
    submit(&bench, &body(&receiver.url())).await;
    bench.sim.clock().advance(SECOND);
    let first = receiver.respond_with(200).await;
    let delivery = settled(&bench.sim).await.remove(0);
    let again = bench.sim.redeliver_webhook(delivery.id).unwrap();
    let second = receiver.respond_with(200).await;
    assert_eq!(first.body, second.body);
    assert_eq!(first.header("webhook-id"), second.header("webhook-id"));
    assert_eq!(
        first.header("webhook-signature"),
        second.header("webhook-signature"),
        "at the same second"
    );
    let log = settled(&bench.sim).await;
    assert_eq!((log[1].id, log[1].cause), (again, WebhookCause::Redelivery));
    assert_eq!(log[1].body, delivery.body);
    assert_eq!(bench.sim.redeliver_webhook(99), None);
    assert_eq!(bench.sim.redeliver_webhook(0), None);
}

#[tokio::test]
async fn the_log_is_bounded_and_drops_the_oldest_finished_deliveries() {
    let (bench, mut receiver) = start("max_kept = 3").await;
    let mut tasks = Vec::new();
    for _ in 0..4 {
        tasks.push(submit(&bench, &body(&receiver.url())).await);
        bench.sim.clock().advance(SECOND);
        receiver.respond_with(200).await;
        settled(&bench.sim).await;
    }
    let kept = |log: Vec<WebhookDelivery>| {
        log.into_iter().map(|delivery| delivery.task).collect::<Vec<_>>()
    };
    assert_eq!(kept(bench.sim.webhooks()), tasks[1..]);
    // Pending deliveries are never dropped, so there is no room for the fourth.
    for _ in 0..4 {
        submit(&bench, &body(&receiver.url())).await;
    }
    let log = bench.sim.webhooks();
    assert!(log.len() == 3 && log.iter().all(|delivery| delivery.state == WebhookState::Waiting));
    assert_eq!(bench.sim.redeliver_webhook(log[0].id), None);

    let bench = self::bench("max_kept_bytes = 3000").await;
    for _ in 0..4 {
        submit(&bench, &body("http://example.com/")).await;
    }
    assert_eq!(bench.sim.webhooks().iter().map(|delivery| delivery.id).collect::<Vec<_>>(), [3, 4]);
}

#[tokio::test]
async fn nothing_is_sent_after_a_shutdown() {
    for graceful in [false, true] {
        let (bench, mut receiver) = start("").await;
        for _ in 0..2 {
            submit(&bench, &body(&receiver.url())).await;
        }
        bench.sim.clock().advance(SECOND);
        // One delivery is in progress, and is aborted.
        let under_way = receiver.hit().await;
        let clock = bench.sim.clock();
        let Bench { sim, .. } = bench;
        if graceful {
            sim.shutdown().await;
        } else {
            drop(sim);
        }
        under_way.broken_off().await;
        clock.advance(1000 * SECOND);
    }
}
