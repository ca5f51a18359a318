//! Webhooks, as a receiver on loopback sees them.

use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use imagekiln_simulator::{
    Config, Simulator, StartError, WebhookCause, WebhookDelivery, WebhookScheme, WebhookSettings,
    WebhookState,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::bench::Bench;
use super::webhook_receiver::{Receiver, response};

const SECOND: Duration = Duration::from_secs(1);

/// A simulator whose clock stands still, so that times are exact.
async fn bench(webhooks: WebhookSettings) -> Bench {
    Bench::with(Config { webhooks, speed: 0.0, ..Config::default() }).await
}

fn body(url: &str, prompt: &str) -> Value {
    json!({ "prompt": prompt, "width": 64, "height": 64, "webhook_url": url })
}

fn signed(url: &str, secret: &str) -> Value {
    let mut body = body(url, "a fox");
    body["webhook_secret"] = secret.into();
    body
}

async fn submit(bench: &Bench, body: &Value) -> String {
    bench.submit("/v1/gen-2-flex", body).await["id"].as_str().unwrap().to_owned()
}

/// The deliveries, once none of them waits any more.
async fn settled(sim: &Simulator) -> Vec<WebhookDelivery> {
    sim.webhooks_when(|all| all.iter().all(|delivery| delivery.state != WebhookState::Waiting))
        .await
}

/// HMAC-SHA256 as RFC 2104 writes it, for keys up to a block.
fn hmac_sha256(key: &[u8], message: &[u8]) -> String {
    let mut block = [0; 64];
    block[..key.len()].copy_from_slice(key);
    let inner =
        Sha256::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(message).finalize();
    let outer =
        Sha256::new().chain_update(block.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize();
    outer.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_tests_own_hmac_is_that_of_rfc_4231() {
    assert_eq!(
        hmac_sha256(b"Jefe", b"what do ya want for nothing?"),
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    );
}

#[tokio::test]
async fn every_final_status_is_told_as_a_poll_tells_it() {
    let (bench, mut receiver) = (bench(WebhookSettings::default()).await, Receiver::start().await);
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
        let hit = receiver.answer(204).await;
        assert_eq!(hit.json(), bench.poll(&task).await);
        assert_eq!((&hit.json()["id"], &hit.json()["status"]), (&task["id"], &json!(status)));
        assert!(url.ends_with(&hit.path_and_query) && hit.path_and_query.starts_with("/hook?for="));
        assert_eq!(hit.header("content-type"), Some("application/json"));
        assert_eq!(hit.header("host"), Some(receiver.address.to_string().as_str()));
        assert_eq!(hit.header("x-webhook-signature"), None, "no secret, no signature");
    }
    let sample =
        async |poll: Value| bench.fetch(poll["result"]["sample"].as_str().unwrap()).await.status;
    let log = settled(&bench.sim).await;
    assert_eq!(sample(serde_json::from_str(&log[0].body).unwrap()).await, 200);
    assert!(log.iter().all(|delivery| {
        delivery.cause == WebhookCause::Final
            && delivery.state == WebhookState::Delivered
            && delivery.attempts.len() == 1
            && delivery.attempts[0].status == Some(204)
    }));
}

#[tokio::test]
async fn a_submission_answered_without_a_polling_address_is_told_too() {
    let (bench, mut receiver) = (bench(WebhookSettings::default()).await, Receiver::start().await);
    let task = bench.submit("/v1/gen-2-pro", &body(&receiver.url(), "a fox")).await;
    assert_eq!(task.get("polling_url"), None);
    bench.sim.clock().advance(SECOND);
    assert_eq!(receiver.answer(200).await.json()["id"], task["id"]);
}

#[tokio::test]
async fn by_default_the_body_is_signed_with_hmac_sha256() {
    let mut receiver = Receiver::start().await;
    for header in ["x-webhook-signature", "x-hub-signature-256"] {
        let bench =
            bench(WebhookSettings { header: header.to_owned(), ..WebhookSettings::default() })
                .await;
        submit(&bench, &signed(&receiver.url(), "sécret")).await;
        bench.sim.clock().advance(SECOND);
        let hit = receiver.answer(200).await;
        let expected = format!("sha256={}", hmac_sha256("sécret".as_bytes(), &hit.body));
        assert_eq!(hit.header(header), Some(expected.as_str()));
    }
}

#[tokio::test]
async fn the_secret_itself_can_be_the_sign() {
    let settings = WebhookSettings {
        scheme: WebhookScheme::Secret,
        header: "Authorization".to_owned(),
        ..WebhookSettings::default()
    };
    let (bench, mut receiver) = (bench(settings).await, Receiver::start().await);
    submit(&bench, &signed(&receiver.url(), "hidden secret")).await;
    submit(&bench, &signed(&receiver.url(), "")).await;
    submit(&bench, &signed(&receiver.url(), "no\nheader")).await;
    bench.sim.clock().advance(SECOND);
    let signs = [receiver.answer(200).await, receiver.answer(200).await]
        .map(|hit| hit.header("authorization").map(str::to_owned));
    assert!(
        signs.contains(&Some("hidden secret".to_owned())) && signs.contains(&None),
        "{signs:?}"
    );
    let log = settled(&bench.sim).await;
    assert_eq!(log[2].state, WebhookState::Refused);
    assert!(log[2].refusal.unwrap().contains("no header can carry"));
    assert!(!receiver.has_been_hit());
}

#[tokio::test]
async fn standard_webhooks_are_verified_by_their_library() {
    let settings =
        WebhookSettings { scheme: WebhookScheme::Standard, ..WebhookSettings::default() };
    let (bench, mut receiver) = (bench(settings).await, Receiver::start().await);
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
        let first = receiver.answer(500).await;
        verifier.verify(&first.body, &first.headers).unwrap();
        assert!(verifier.verify(b"{}", &first.headers).is_err());

        // Again after a second: the same webhook, at another time.
        let log =
            bench.sim.webhooks_when(|all| all.last().unwrap().attempts[0].status.is_some()).await;
        bench.sim.clock().advance_to(log.last().unwrap().due_at);
        let second = receiver.answer(200).await;
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
    let unsigned = receiver.answer(200).await;
    assert!(
        unsigned.header("webhook-id").is_some() && unsigned.header("webhook-signature").is_none()
    );
}

#[tokio::test]
async fn what_is_not_taken_is_sent_again_after_1_5_and_30_seconds_and_then_given_up() {
    let (bench, mut receiver) = (bench(WebhookSettings::default()).await, Receiver::start().await);
    submit(&bench, &body(&receiver.url(), "a fox")).await;
    let mut bodies = Vec::new();
    let mut moment = SECOND;
    for (attempt, (status, pause)) in
        [(500, 1), (404, 5), (302, 30), (300, 0)].into_iter().enumerate()
    {
        bench.sim.clock().advance_to(moment);
        bodies.push(receiver.answer(status).await.body);
        let log = bench
            .sim
            .webhooks_when(|all| {
                all[0].attempts.len() > attempt && all[0].attempts[attempt].status.is_some()
            })
            .await;
        let last = log[0].attempts.last().unwrap();
        assert_eq!((last.at, last.status), (moment, Some(status)), "attempt {attempt}");
        moment += pause * SECOND;
        assert_eq!(log[0].due_at, moment, "after attempt {attempt}");
    }
    let log = settled(&bench.sim).await;
    assert_eq!((log[0].state, log[0].attempts.len()), (WebhookState::GivenUp, 4));
    assert!(bodies.iter().all(|body| *body == bodies[0]));
    bench.sim.clock().advance(1000 * SECOND);
    submit(&bench, &body(&receiver.url(), "another")).await;
    bench.sim.clock().advance(SECOND);
    assert_ne!(receiver.answer(200).await.body, bodies[0], "the first is not sent any more");
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let settings = WebhookSettings { retry_after: vec![], ..WebhookSettings::default() };
    let (bench, mut receiver, other) =
        (bench(settings).await, Receiver::start().await, Receiver::start().await);
    submit(&bench, &body(&receiver.url(), "a fox")).await;
    bench.sim.clock().advance(SECOND);
    let mut redirect = response(307);
    redirect.headers_mut().insert(header::LOCATION, other.url().parse().unwrap());
    receiver.hit().await.respond(redirect);
    let log = settled(&bench.sim).await;
    assert_eq!((log[0].state, log[0].attempts[0].status), (WebhookState::GivenUp, Some(307)));
    assert!(!other.has_been_hit());
}

#[tokio::test]
async fn receivers_that_hang_or_are_not_there_are_given_up_and_stop_nobody_else() {
    let settings = WebhookSettings {
        retry_after: vec![],
        timeout: Duration::from_millis(300),
        ..WebhookSettings::default()
    };
    let (bench, hangs, mut answers) =
        (bench(settings).await, Receiver::start().await, Receiver::start().await);
    // More than may be under way to one receiver.
    for _ in 0..20 {
        submit(&bench, &body(&hangs.url(), "a fox")).await;
    }
    submit(&bench, &body("http://127.0.0.1:1/nobody", "a fox")).await;
    let taken = submit(&bench, &body(&answers.url(), "a fox")).await;
    bench.sim.clock().advance(SECOND);
    assert_eq!(answers.answer(200).await.json()["id"], taken);
    let log = bench.sim.webhooks_when(|all| all[21].state == WebhookState::Delivered).await;
    assert!(
        log[..20].iter().any(|delivery| delivery.state == WebhookState::Waiting),
        "the others still hang"
    );
    let log = settled(&bench.sim).await;
    for delivery in &log[..20] {
        assert_eq!(delivery.state, WebhookState::GivenUp);
        assert_eq!(delivery.attempts[0].problem.as_deref(), Some("no answer within 0.3 s"));
    }
    assert!(log[20].attempts[0].problem.as_ref().unwrap().starts_with("could not connect"));
}

#[tokio::test]
async fn an_answers_head_decides_even_if_its_body_never_ends() {
    let settings =
        WebhookSettings { timeout: Duration::from_millis(200), ..WebhookSettings::default() };
    let (bench, mut receiver) = (bench(settings).await, Receiver::start().await);
    for endless in [Body::new(Endless { silent: true }), Body::new(Endless { silent: false })] {
        submit(&bench, &body(&receiver.url(), "a fox")).await;
        bench.sim.clock().advance(SECOND);
        receiver.hit().await.respond(axum::response::Response::new(endless));
        let log = settled(&bench.sim).await;
        assert_eq!(log.last().unwrap().state, WebhookState::Delivered);
    }
}

/// A body without an end: of zeros, or of nothing.
struct Endless {
    silent: bool,
}

impl http_body::Body for Endless {
    type Data = axum::body::Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Self::Data>, Self::Error>>> {
        match self.silent {
            true => std::task::Poll::Pending,
            false => std::task::Poll::Ready(Some(Ok(http_body::Frame::data(vec![0; 1000].into())))),
        }
    }
}

#[tokio::test]
async fn what_no_simulator_could_do_is_refused_at_the_start() {
    let refused = async |webhooks| {
        let config = Config { webhooks, ..Config::default() };
        match Simulator::start(config).await {
            Err(StartError::Setting { setting, .. }) => setting,
            other => panic!("{other:?}"),
        }
    };
    for header in ["", "a b", "Content-Length"] {
        let settings = WebhookSettings { header: header.to_owned(), ..WebhookSettings::default() };
        assert_eq!(refused(settings).await, "webhooks.header");
    }
    let settings = WebhookSettings { timeout: Duration::ZERO, ..WebhookSettings::default() };
    assert_eq!(refused(settings).await, "webhooks.timeout");
    let settings = WebhookSettings { retry_after: vec![SECOND; 21], ..WebhookSettings::default() };
    assert_eq!(refused(settings).await, "webhooks.retry_after");
    let settings = WebhookSettings { max_kept: 0, ..WebhookSettings::default() };
    assert_eq!(refused(settings).await, "webhooks.max_kept");
    let read =
        Config::from_toml("[webhooks]\nscheme = 'secret'\nretry_after = [1, 0.5]\ntimeout = 3")
            .unwrap();
    assert_eq!(read.webhooks.scheme, WebhookScheme::Secret);
    assert_eq!(read.webhooks.retry_after, [SECOND, SECOND / 2]);
    assert!(Config::from_toml("[webhooks]\nretry_after = [-1]").is_err());
}

#[tokio::test]
async fn words_in_a_request_twist_its_webhook() {
    let (bench, mut receiver) = (bench(WebhookSettings::default()).await, Receiver::start().await);
    let send = async |words: &str| {
        let mut body = signed(&receiver.url(), "s3cret");
        body["prompt"] = words.into();
        submit(&bench, &body).await
    };
    let twice = send("[[webhook-duplicate]]").await;
    let late = send("[[webhook-late=20]]").await;
    let forged = send("[[webhook-forged]]").await;
    bench.sim.clock().advance(SECOND);
    let mut hits = Vec::new();
    for _ in 0..4 {
        hits.push(receiver.answer(204).await);
    }
    let signature = |hit: &super::webhook_receiver::Hit| {
        let expected = format!("sha256={}", hmac_sha256(b"s3cret", &hit.body));
        hit.header("x-webhook-signature") == Some(expected.as_str())
    };
    let of = |task: &String| {
        hits.iter().filter(|hit| hit.json()["id"] == **task).map(signature).collect::<Vec<_>>()
    };
    assert_eq!(of(&twice), [true, true]);
    assert!(of(&late).is_empty());
    let mut verified = of(&forged);
    verified.sort_unstable();
    assert_eq!(verified, [false, true]);
    bench.sim.clock().advance(20 * SECOND);
    assert_eq!(receiver.answer(204).await.json()["id"], late);
    assert_eq!(bench.sim.counts().struck.values().sum::<u64>(), 3);
}
