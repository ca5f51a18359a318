//! Webhooks, as seen by a receiver on loopback.

use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{bench::Bench, webhook_receiver::Receiver};
use imagekiln_simulator::{Config, Simulator, WebhookCause, WebhookDelivery, WebhookState};

pub const SECOND: Duration = Duration::from_secs(1);

/// A simulator with a stopped clock, so that times are exact, and these settings of webhooks.
pub async fn bench(settings: &str) -> Bench {
    Bench::with(Config::from_toml(&format!("speed = 0\n[webhooks]\n{settings}")).unwrap()).await
}

/// A simulator as [`bench`] starts it, and a receiver.
pub async fn start(settings: &str) -> (Bench, Receiver) {
    (bench(settings).await, Receiver::start().await)
}

pub fn body(url: &str, prompt: &str) -> Value {
    json!({ "prompt": prompt, "width": 64, "height": 64, "webhook_url": url })
}

pub fn signed(url: &str, secret: &str) -> Value {
    let mut body = body(url, "a fox");
    body["webhook_secret"] = secret.into();
    body
}

pub async fn submit(bench: &Bench, body: &Value) -> String {
    bench.submit("/v1/gen-2-flex", body).await["id"].as_str().unwrap().to_owned()
}

/// The deliveries, once none is pending.
pub async fn settled(sim: &Simulator) -> Vec<WebhookDelivery> {
    sim.webhooks_when(|all| all.iter().all(|delivery| delivery.state != WebhookState::Waiting))
        .await
}

/// HMAC-SHA256 according to RFC 2104, for keys of at most one block.
pub fn hmac_sha256(key: &[u8], message: &[u8]) -> String {
    let mut block = [0; 64];
    block[..key.len()].copy_from_slice(key);
    let inner =
        Sha256::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(message).finalize();
    let outer =
        Sha256::new().chain_update(block.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize();
    outer.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_hmac_of_these_tests_matches_rfc_4231() {
    assert_eq!(
        hmac_sha256(b"Jefe", b"what do ya want for nothing?"),
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    );
}

#[tokio::test]
async fn every_final_status_is_sent_as_in_a_poll_response() {
    let (bench, mut receiver) = start("").await;
    for (prompt, status) in [
        ("a fox", "Ready"),
        ("[[error]]", "Error"),
        ("[[request-moderated]]", "Request Moderated"),
        ("[[content-moderated]]", "Content Moderated"),
        ("[[not-found]]", "Task not found"),
    ] {
        let url = format!("{}?for={status}", receiver.url()).replace(' ', "+");
        let task = bench.submit("/v1/gen-2-flex", &body(&url, prompt)).await;
        let taken_on = bench.sim.webhooks().pop().unwrap();
        assert_eq!((taken_on.state, taken_on.attempts.len()), (WebhookState::Waiting, 0));
        bench.sim.clock().advance(SECOND);
        let hit = receiver.respond_with(204).await;
        assert_eq!(hit.json(), bench.poll(&task).await);
        assert_eq!((&hit.json()["id"], &hit.json()["status"]), (&task["id"], &json!(status)));
        assert!(url.ends_with(&hit.path_and_query) && hit.path_and_query.starts_with("/hook?for="));
        assert_eq!(hit.header("content-type"), Some("application/json"));
        assert_eq!(hit.header("host"), Some(receiver.address.to_string().as_str()));
        assert_eq!(hit.header("x-webhook-signature"), None, "no secret, no signature");
        assert_eq!((task.get("status"), task.get("webhook_url")), (None, None), "{task}");
    }
    let sample =
        async |poll: Value| bench.fetch(poll["result"]["sample"].as_str().unwrap()).await.status;
    let log = settled(&bench.sim).await;
    assert_eq!(sample(serde_json::from_str(log[0].body.expose()).unwrap()).await, 200);
    assert!(log.iter().all(|delivery| {
        delivery.cause == WebhookCause::Final
            && delivery.state == WebhookState::Delivered
            && delivery.attempts.len() == 1
            && delivery.attempts[0].status == Some(204)
    }));
}

#[tokio::test]
async fn a_webhook_is_sent_also_if_the_polling_url_was_omitted() {
    let (bench, mut receiver) = start("omit_polling_url = true").await;
    let task = bench.submit("/v1/gen-2-pro", &body(&receiver.url(), "a fox")).await;
    assert_eq!(task.get("polling_url"), None);
    bench.sim.clock().advance(SECOND);
    assert_eq!(receiver.respond_with(200).await.json()["id"], task["id"]);
}

#[tokio::test]
async fn by_default_the_body_is_signed_with_hmac_sha256() {
    let mut receiver = Receiver::start().await;
    for header in ["x-webhook-signature", "x-hub-signature-256"] {
        let bench = bench(&format!("header = '{header}'")).await;
        submit(&bench, &signed(&receiver.url(), "sécret")).await;
        bench.sim.clock().advance(SECOND);
        let hit = receiver.respond_with(200).await;
        let expected = format!("sha256={}", hmac_sha256("sécret".as_bytes(), &hit.body));
        assert_eq!(hit.header(header), Some(expected.as_str()));
    }
}

#[tokio::test]
async fn the_secret_itself_can_be_sent() {
    let (bench, mut receiver) = start("scheme = 'secret'\nheader = 'Authorization'").await;
    submit(&bench, &signed(&receiver.url(), "hidden secret")).await;
    submit(&bench, &signed(&receiver.url(), "")).await;
    submit(&bench, &signed(&receiver.url(), "no\nheader")).await;
    bench.sim.clock().advance(SECOND);
    let signs = [receiver.respond_with(200).await, receiver.respond_with(200).await]
        .map(|hit| hit.header("authorization").map(str::to_owned));
    assert!(
        signs.contains(&Some("hidden secret".to_owned())) && signs.contains(&None),
        "{signs:?}"
    );
    let log = settled(&bench.sim).await;
    assert_eq!(log[2].state, WebhookState::Refused);
    assert!(log[2].refusal.unwrap().contains("not allowed in a header"));
    assert!(!receiver.has_been_hit());
}

#[tokio::test]
async fn standard_webhooks_are_verified_by_their_library() {
    let (bench, mut receiver) = start("scheme = 'standard'").await;
    let verifiers = [
        ("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", None),
        ("plain words", Some("plain words")),
        ("whsec_not base64", Some("whsec_not base64")),
    ];
    for (secret, bytes) in verifiers {
        let verifier = match bytes {
            None => standardwebhooks::Webhook::new(secret),
            Some(bytes) => standardwebhooks::Webhook::from_bytes(bytes.as_bytes().to_vec()),
        };
        let verifier = verifier.unwrap();
        submit(&bench, &signed(&receiver.url(), secret)).await;
        bench.sim.clock().advance(SECOND);
        let first = receiver.respond_with(500).await;
        verifier.verify(&first.body, &first.headers).unwrap();
        assert!(verifier.verify(b"{}", &first.headers).is_err());

        // Redelivered after a second: the same webhook with another timestamp.
        let log =
            bench.sim.webhooks_when(|all| all.last().unwrap().attempts[0].status.is_some()).await;
        bench.sim.clock().advance_to(log.last().unwrap().due_at);
        let second = receiver.respond_with(200).await;
        verifier.verify(&second.body, &second.headers).unwrap();
        let timestamp = |hit: &super::webhook_receiver::Hit| {
            hit.header("webhook-timestamp").unwrap().parse::<u64>()
        };
        assert_eq!(timestamp(&first).unwrap() + 1, timestamp(&second).unwrap());
        assert_eq!(timestamp(&second).unwrap(), bench.sim.clock().unix_now().as_secs());
        assert_eq!(first.header("webhook-id"), second.header("webhook-id"));
        assert_eq!(first.header("webhook-id"), Some(log.last().unwrap().webhook_id.as_str()));
        settled(&bench.sim).await;
    }
    submit(&bench, &body(&receiver.url(), "unsigned")).await;
    bench.sim.clock().advance(SECOND);
    let unsigned = receiver.respond_with(200).await;
    assert!(
        unsigned.header("webhook-id").is_some() && unsigned.header("webhook-signature").is_none()
    );
}
