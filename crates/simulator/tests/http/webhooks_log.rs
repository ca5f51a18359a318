//! The log of webhooks: what it shows, what it hides, and redelivery.

use std::time::Duration;

use serde_json::{Value, json};

use super::{bench::Bench, trace::Trace, webhook_receiver::Receiver};
use imagekiln_simulator::{
    Config, WebhookCause, WebhookDelivery, WebhookScheme, WebhookSettings, WebhookState,
};

const SECOND: Duration = Duration::from_secs(1);

async fn bench(webhooks: WebhookSettings) -> Bench {
    Bench::with(Config { webhooks, speed: 0.0, ..Config::default() }).await
}

fn body(url: &str) -> Value {
    json!({
        "prompt": "a fox",
        "width": 64,
        "height": 64,
        "webhook_url": url,
        "webhook_secret": "hidden-secret",
    })
}

fn ended(all: &[WebhookDelivery]) -> bool {
    all.iter().all(|delivery| delivery.state != WebhookState::Waiting)
}

/// Without `allow_remote`, and with it. No refused receiver is connected to.
#[tokio::test]
async fn only_allowed_receivers_are_sent_to() {
    let mut receiver = Receiver::start_everywhere().await;
    for allow_remote in [false, true] {
        let settings =
            WebhookSettings { allow_remote, retry_after: vec![], ..WebhookSettings::default() };
        let bench = bench(settings).await;
        let sim = &bench.sim;
        let port = receiver.address.port();
        let unspecified = format!("http://0.0.0.0:{port}/hook");
        let own = sim.base_url().replace("127.0.0.1", "localhost");
        let mut refused = vec![
            (unspecified.as_str(), "not an address of a machine"),
            ("ftp://127.0.0.1/x", "neither http nor https"),
            ("mailto:a@localhost", "neither http nor https"),
            (own.as_str(), "does not send requests to itself"),
            (sim.control_url(), "does not send requests to itself"),
        ];
        if !allow_remote {
            refused.push(("http://10.0.0.1/", "allow_remote"));
            refused.push(("https://example.com/hook?token=hidden", "allow_remote"));
        }
        for (url, _) in &refused {
            bench.submit("/v1/gen-2-flex", &body(url)).await;
        }
        for host in ["127.0.0.1", "localhost", "[::ffff:7f00:1]"] {
            let url = format!("http://{host}:{port}/{host}");
            bench.submit("/v1/gen-2-flex", &body(&url)).await;
        }
        sim.clock().advance(SECOND);
        for _ in 0..3 {
            let hit = receiver.respond_with(200).await;
            let host = format!("{}:{port}", &hit.path_and_query[1..]);
            assert_eq!(hit.header("host"), Some(host.as_str()));
        }
        let log = sim.webhooks_when(ended).await;
        for (delivery, (url, refusal)) in log.iter().zip(&refused) {
            assert_eq!(delivery.state, WebhookState::Refused, "{url}");
            assert!(delivery.refusal.unwrap().contains(refusal), "{url}: {delivery:?}");
            assert!(delivery.attempts.is_empty() && !delivery.url.contains("hidden"));
        }
        let sent = &log[refused.len()..];
        assert!(sent.iter().all(|delivery| delivery.state == WebhookState::Delivered), "{sent:?}");
    }
    assert!(!receiver.has_been_hit());
}

#[tokio::test]
async fn the_log_and_the_trace_contain_no_secrets() {
    let trace = Trace::start();
    for scheme in [WebhookScheme::HmacSha256, WebhookScheme::Secret, WebhookScheme::Standard] {
        let settings =
            WebhookSettings { scheme, retry_after: vec![], ..WebhookSettings::default() };
        let (bench, mut receiver) = (bench(settings).await, Receiver::start().await);
        let url = format!(
            "http://me:hidden-word@{}/hook?token=hidden-token#hidden-part",
            receiver.address
        );
        for (url, status) in
            [(&*url, Some(200)), (&url, Some(500)), ("http://example.com?hidden-token", None)]
        {
            bench.submit("/v1/gen-2-flex", &body(url)).await;
            bench.sim.clock().advance(SECOND);
            if let Some(status) = status {
                let hit = receiver.respond_with(status).await;
                assert_eq!(hit.path_and_query, "/hook?token=hidden-token");
                assert_eq!(hit.header("authorization"), None);
            }
        }
        let log = bench.sim.webhooks_when(ended).await;
        let header = &log[0].headers.last().unwrap().1;
        match scheme {
            WebhookScheme::Secret => assert_eq!(header, "[redacted]"),
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
    let settings =
        WebhookSettings { scheme: WebhookScheme::Standard, ..WebhookSettings::default() };
    let (bench, mut receiver) = (bench(settings).await, Receiver::start().await);
    bench.submit("/v1/gen-2-flex", &body(&receiver.url())).await;
    bench.sim.clock().advance(SECOND);
    let first = receiver.respond_with(200).await;
    let delivery = bench.sim.webhooks_when(ended).await.remove(0);
    let again = bench.sim.redeliver_webhook(delivery.id).unwrap();
    let second = receiver.respond_with(200).await;
    assert_eq!(first.body, second.body);
    assert_eq!(first.header("webhook-id"), second.header("webhook-id"));
    assert_eq!(
        first.header("webhook-signature"),
        second.header("webhook-signature"),
        "at the same second"
    );
    let log = bench.sim.webhooks_when(ended).await;
    assert_eq!((log[1].id, log[1].cause), (again, WebhookCause::Redelivery));
    assert_eq!(log[1].body, delivery.body);
    assert_eq!(bench.sim.redeliver_webhook(99), None);
    assert_eq!(bench.sim.redeliver_webhook(0), None);
}

#[tokio::test]
async fn the_log_is_bounded_and_drops_the_oldest_finished_deliveries() {
    let settings = WebhookSettings { max_kept: 3, ..WebhookSettings::default() };
    let (bench, mut receiver) = (bench(settings).await, Receiver::start().await);
    let mut tasks = Vec::new();
    for _ in 0..4 {
        let task = bench.submit("/v1/gen-2-flex", &body(&receiver.url())).await;
        tasks.push(task["id"].as_str().unwrap().to_owned());
        bench.sim.clock().advance(SECOND);
        receiver.respond_with(200).await;
        bench.sim.webhooks_when(ended).await;
    }
    let kept = |log: Vec<WebhookDelivery>| {
        log.into_iter().map(|delivery| delivery.task).collect::<Vec<_>>()
    };
    assert_eq!(kept(bench.sim.webhooks()), tasks[1..]);
    // Pending deliveries are never dropped, so there is no room for the fourth.
    for _ in 0..4 {
        bench.submit("/v1/gen-2-flex", &body(&receiver.url())).await;
    }
    let log = bench.sim.webhooks();
    assert!(log.len() == 3 && log.iter().all(|delivery| delivery.state == WebhookState::Waiting));
    assert_eq!(bench.sim.redeliver_webhook(log[0].id), None);

    let small = WebhookSettings { max_kept_bytes: 3000, ..WebhookSettings::default() };
    let bench = self::bench(small).await;
    for _ in 0..4 {
        bench.submit("/v1/gen-2-flex", &body("http://example.com/")).await;
    }
    assert_eq!(bench.sim.webhooks().iter().map(|delivery| delivery.id).collect::<Vec<_>>(), [3, 4]);
}

#[tokio::test]
async fn nothing_is_sent_after_a_shutdown() {
    for graceful in [false, true] {
        let (bench, mut receiver) =
            (bench(WebhookSettings::default()).await, Receiver::start().await);
        for _ in 0..2 {
            bench.submit("/v1/gen-2-flex", &body(&receiver.url())).await;
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
