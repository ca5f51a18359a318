//! Sample clients, requests and responses of a well-behaved service.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::Instant};

use super::{reply::Reply, scripted::ScriptedServer};
use imagekiln::{
    Billing, Client, ClientBuilder, Error, ErrorKind, Picture, SubmitOptions, Task, TaskRef,
    WaitOptions, types::Gen2Pro,
};

pub const KEY: &str = "kiln-key-7f3a19c2e8";
pub const WEBHOOK_SECRET: &str = "webhook-secret-51d0b7";
/// In the query of polling URLs, like the signature of a service.
pub const POLLING_SIGNATURE: &str = "polling-signature-a90c44";
/// In the query of delivery URLs.
pub const DELIVERY_SIGNATURE: &str = "delivery-signature-2be617";

/// A client of this server with reproducible jitter and a wall clock that follows tokio's clock.
pub fn builder(server: &ScriptedServer) -> ClientBuilder {
    let started = Instant::now();
    Client::builder().api_key(KEY).base_url(server.url("")).random_seed(7).wall_clock(move || {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000) + started.elapsed()
    })
}

pub fn client(server: &ScriptedServer) -> Client {
    builder(server).build().expect("the settings are complete")
}

/// A service and its client.
pub async fn served() -> (ScriptedServer, Client) {
    served_with(|builder| builder).await
}

/// A service and a client with these settings.
pub async fn served_with(
    configure: impl FnOnce(ClientBuilder) -> ClientBuilder,
) -> (ScriptedServer, Client) {
    let service = ScriptedServer::start().await;
    let client = configure(builder(&service)).build().expect("the settings are complete");
    (service, client)
}

pub fn fox() -> Gen2Pro {
    Gen2Pro::new("a red fox in the snow")
}

/// Submits a fox that does not wait for a slot.
pub async fn try_submit(client: &Client) -> Result<Task, Error> {
    client.submit_with(fox(), SubmitOptions::default().wait_for_slot(false)).await
}

/// Submits a fox in a task of its own.
pub fn submit_in_background(client: &Client) -> JoinHandle<Result<Task, Error>> {
    let client = client.clone();
    tokio::spawn(async move { client.submit(fox()).await })
}

/// Accepts the submission, with the polling URL `/poll/ID` at `server`.
pub fn accepted(server: &ScriptedServer, id: &str) -> Reply {
    Reply::json(200, &json!({ "id": id, "polling_url": polling_url(server, id), "cost": 4 }))
}

pub fn polling_url(server: &ScriptedServer, id: &str) -> String {
    server.url(&format!("/poll/{id}?signature={POLLING_SIGNATURE}"))
}

pub fn status(status: &str) -> Reply {
    Reply::json(200, &json!({ "id": "t1", "status": status, "result": null }))
}

/// Status `Ready` with a picture at `/fox.png` of `delivery`.
pub fn ready(delivery: &ScriptedServer) -> Reply {
    Reply::json(200, &ready_body(&delivery_url(delivery)))
}

pub fn ready_body(address: &str) -> Value {
    json!({ "id": "t1", "status": "Ready", "result": { "sample": address } })
}

pub fn delivery_url(delivery: &ScriptedServer) -> String {
    delivery.url(&format!("/fox.png?signature={DELIVERY_SIGNATURE}"))
}

/// A task of `server`, without a submission.
pub fn task(client: &Client, server: &ScriptedServer) -> Task {
    client.task(reference(server))
}

pub fn reference(server: &ScriptedServer) -> TaskRef {
    TaskRef::new("t1", polling_url(server, "t1"), Some("gen-2-pro".to_owned()))
}

/// The reference of a task that [`accepted`] returned.
pub fn submitted(server: &ScriptedServer) -> TaskRef {
    let known = json!({
        "id": "t1",
        "polling_url": polling_url(server, "t1"),
        "operation": "gen-2-pro",
        "region": "global",
        "cost": 4.0,
        "submitted_at": 1_800_000_000,
    });
    serde_json::from_value(known).expect("a stored reference")
}

/// A picture with a delivery URL at `delivery`, after one poll of `server`.
pub async fn picture(
    client: &Client,
    server: &ScriptedServer,
    delivery: &ScriptedServer,
) -> Picture {
    server.reply(ready(delivery));
    task(client, server).wait().await.expect("the task is ready")
}

/// A service, a delivery host, and a picture that is ready there.
pub async fn ready_picture() -> (ScriptedServer, ScriptedServer, Picture) {
    ready_picture_with(|builder| builder).await
}

/// [`ready_picture`] of a client with these settings.
pub async fn ready_picture_with(
    configure: impl FnOnce(ClientBuilder) -> ClientBuilder,
) -> (ScriptedServer, ScriptedServer, Picture) {
    let ((service, client), delivery) =
        (served_with(configure).await, ScriptedServer::start().await);
    let picture = picture(&client, &service, &delivery).await;
    (service, delivery, picture)
}

pub fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub fn deadline(seconds: u64) -> WaitOptions {
    WaitOptions::default().deadline(Duration::from_secs(seconds))
}

/// A PNG of 1 x 1 pixel.
pub const PNG: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\
    \0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82";

/// The chunks of a PNG of this length with varied data.
pub fn large_png(length: usize) -> Vec<u8> {
    let (head, tail) = PNG.split_at(PNG.len() - 12);
    let data = (length - PNG.len() - 12) as u32;
    let mut png = [head, &data.to_be_bytes(), b"IDAT"].concat();
    png.extend((0..data + 4).map(|index| (index.wrapping_mul(2_654_435_761) >> 13) as u8));
    png.extend_from_slice(tail);
    png
}

/// Asserts the kind of an error, and that neither the error nor its causes contain secrets.
#[track_caller]
pub fn assert_kind(error: &Error, kind: ErrorKind) {
    assert_eq!(error.kind(), kind, "{error:?}");
    let mut texts = vec![error.to_string(), format!("{error:?}")];
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        texts.extend([error.to_string(), format!("{error:?}")]);
        cause = error.source();
    }
    assert_no_secret(&texts.join("\n"));
}

/// Asserts the kind and the billing of an error without secrets.
#[track_caller]
pub fn assert_billing(error: &Error, kind: ErrorKind, billing: Billing<'_>) {
    assert_kind(error, kind);
    assert_eq!(error.billing(), billing, "{error:?}");
}

#[track_caller]
pub fn assert_no_secret(text: &str) {
    for secret in [KEY, WEBHOOK_SECRET, POLLING_SIGNATURE, DELIVERY_SIGNATURE] {
        assert!(!text.contains(secret), "`{secret}` occurs in {text}");
    }
}
