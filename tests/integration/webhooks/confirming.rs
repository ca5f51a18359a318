//! Events are confirmed by a poll with the key in the region of the submission.

use std::time::Duration;

use serde_json::{Value, json};

use super::signed::{SECRET, SIGNATURE, event, headers, hmac_header};
use crate::support::{
    reply::Reply,
    samples::{self, assert_kind, served},
    scripted::ScriptedServer,
};
use imagekiln::{
    Client, Error, ErrorKind, Region, Submit, Task, TaskRef, TaskStatus,
    types::{self, Gen2Pro},
    webhook::{Rejection, Verifier},
};
use imagekiln_simulator::{Config, Simulator, WebhookSettings};

async fn simulator() -> (Simulator, Client) {
    let webhooks = WebhookSettings { omit_polling_url: true, ..WebhookSettings::default() };
    let config = Config { webhooks, speed: 0.0, ..Config::default() };
    let sim = Simulator::start(config).await.unwrap();
    let client = Client::builder()
        .api_key(sim.api_key())
        .base_url(sim.base_url())
        .regional_base_url(sim.regional_base_url())
        .webhook_url("http://127.0.0.1:9/hook")
        .webhook_secret(SECRET);
    (sim, client.build().unwrap())
}

/// Submits a request whose response is an `AsyncWebhookResponse`, and confirms its event in both
/// regions.
async fn confirm_at(region: Region, request: impl Submit) {
    let (sim, client) = simulator().await;
    let task: Task = client.submit(request).await.unwrap();
    sim.clock().advance(Duration::from_secs(1));
    let bodies = sim.webhooks_when(|all| !all.is_empty()).await;
    let event = event(bodies[0].body.expose());
    assert_eq!(event.task_id(), Some(task.id()));
    assert_eq!(event.claimed_status(), Some(&TaskStatus::Ready));

    let reference = client.task_of(&event).await.unwrap();
    assert_eq!(&reference, task.reference());
    let update = client.confirm(&event, &reference).await.unwrap();
    assert_eq!(update.status(), &TaskStatus::Ready);
    assert!(!update.picture().unwrap().bytes().await.unwrap().is_empty());

    for other in [Region::Global, Region::Regional] {
        let update = client.confirm_in(&event, other).await.unwrap();
        let expected = if other == region { TaskStatus::Ready } else { TaskStatus::TaskNotFound };
        assert_eq!(update.status(), &expected);
    }
    assert_eq!(sim.counts().accepted, 1);
}

#[tokio::test]
async fn a_task_without_a_polling_url_is_polled_at_the_base_url() {
    confirm_at(Region::Global, Gen2Pro::new("a fox").width(64).height(64)).await;
}

#[tokio::test]
#[expect(deprecated, reason = "all regional operations are deprecated")]
async fn a_regional_task_without_a_polling_url_is_polled_at_the_regional_base_url() {
    confirm_at(Region::Regional, types::GenPro11UltraFinetuned::new("fox-style").prompt("a fox"))
        .await;
}

#[tokio::test]
async fn an_event_about_another_task_is_not_polled() {
    let (service, client) = served().await;
    let task = samples::reference(&service);
    for body in
        [r#"{"id": "t2"}"#, "{}", "[]", "7", r#"{"id": null}"#, r#"{"id": ""}"#, r#"{"id": {}}"#]
    {
        let error = client.confirm(&event(body), &task).await.unwrap_err();
        assert_kind(&error, ErrorKind::Webhook);
    }
    service.assert_received_nothing();
    let error = client.confirm_in(&event(r#"{"id": "t1"}"#), Region::Regional).await.unwrap_err();
    assert_kind(&error, ErrorKind::Settings);
}

/// The event claims that the picture is ready, and where. Only the poll counts.
#[tokio::test]
async fn the_poll_overrides_the_event() {
    let (service, elsewhere) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let client = samples::client(&service);
    let claims = json!({
        "id": "t1",
        "status": "Ready",
        "result": { "sample": elsewhere.url("/fox.png") },
        "polling_url": elsewhere.url("/poll"),
    });
    let event = event(&claims.to_string());
    assert_eq!(event.json::<Value>().unwrap(), claims);
    assert_eq!(event.body(), claims.to_string().as_bytes());

    service.reply(samples::status("Pending"));
    let update = client.confirm(&event, &samples::reference(&service)).await.unwrap();
    assert_eq!(update.status().as_str(), "Pending");
    assert!(update.picture().is_none());

    service.reply(Reply::status(503));
    let error = client.confirm(&event, &samples::reference(&service)).await.unwrap_err();
    assert_kind(&error, ErrorKind::Service);
    assert_eq!(error.task(), Some(&samples::reference(&service)));
    service.assert_every_request_has_the_key();
    elsewhere.assert_received_nothing();
}

#[tokio::test]
async fn the_id_is_found_in_all_common_locations() {
    for (body, id) in [
        (r#"{"id": "a"}"#, "a"),
        (r#"{"id": 17}"#, "17"),
        (r#"{"task_id": "a", "id": "evt_1"}"#, "a"),
        (r#"{"id": "evt_1", "data": {"task_id": "a"}}"#, "a"),
        (r#"{"type": "task.ready", "data": {"id": "a", "status": "Ready"}}"#, "a"),
        (r#"{"result": {"id": "a"}}"#, "a"),
    ] {
        assert_eq!(event(body).task_id(), Some(id), "{body}");
    }
    let body = r#"{"id": "evt_1", "data": {"object": {"id": "a"}}}"#;
    let headers = headers(&[(SIGNATURE, &hmac_header(SECRET, body.as_bytes()))]);
    let at = |pointer: &str| {
        let verifier = Verifier::hmac_sha256(SECRET).task_id(pointer);
        verifier.verify(&headers, body).unwrap().task_id().map(str::to_owned)
    };
    assert_eq!(at("/data/object/id").as_deref(), Some("a"));
    assert_eq!(at("/data/object"), None);
    for wrong in ["", "id", "data/id", "/a~", "/a~2"] {
        let rejection = Verifier::hmac_sha256(SECRET).task_id(wrong).check().unwrap_err();
        assert!(matches!(rejection, Rejection::Settings { .. }), "{wrong}: {rejection}");
    }
    let long = format!(r#"{{"id": "{}"}}"#, "a".repeat(1025));
    assert_eq!(event(&long).task_id(), None);
}

#[test]
fn an_unsigned_body_can_be_read_within_the_size_limit() {
    let verifier = Verifier::hmac_sha256(SECRET).max_body_bytes(40).task_id("/job");
    let event = verifier.read_unverified(r#"{"job": "a", "status": "Ready"}"#).unwrap();
    assert_eq!((event.task_id(), event.message_id()), (Some("a"), None));
    assert_eq!(verifier.read_unverified("not JSON").unwrap_err(), Rejection::NotJson);
    let rejection = verifier.read_unverified(" ".repeat(41)).unwrap_err();
    assert!(matches!(rejection, Rejection::TooLarge { .. }), "{rejection:?}");
}

#[test]
fn an_event_does_not_print_its_body() {
    let body = concat!(
        r#"{"id":"a\u001b[31m","status":"Ready","#,
        r#""result":{"sample":"https://a.example/x?signature=hidden"}}"#,
    );
    let shown = format!("{:?}", event(body));
    assert!(!shown.contains("hidden") && !shown.contains('\u{1b}'), "{shown}");
}

/// A rejection can be returned with `?` like any other error.
#[test]
fn a_refusal_becomes_an_error() {
    let rejection =
        Verifier::hmac_sha256(SECRET).verify(&http::HeaderMap::new(), "{}").unwrap_err();
    let error = Error::from(rejection);
    assert_kind(&error, ErrorKind::Webhook);
    assert_eq!(
        error.to_string(),
        "the webhook delivery was rejected: the header x-webhook-signature is missing; if the \
         service sent it, compare the settings of the verifier with the headers of the delivery"
    );
}

#[tokio::test]
async fn a_task_of_another_process_is_unknown() {
    let (_sim, client) = simulator().await;
    assert_eq!(client.task_of(&event(r#"{"id": "a"}"#)).await, None::<TaskRef>);
}
