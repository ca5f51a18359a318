//! The client under test, and what a well-behaved service says.

use std::time::{Duration, SystemTime};

use imagekiln::{
    Client, ClientBuilder, Error, ErrorKind, Picture, Task, TaskRef, WaitOptions, types::Gen2Pro,
};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{answer::Answer, scripted::ScriptedServer};

pub const KEY: &str = "kiln-key-7f3a19c2e8";
pub const WEBHOOK_SECRET: &str = "webhook-secret-51d0b7";
/// In the query of polling addresses, as a service that signs them would write it.
pub const POLLING_SIGNATURE: &str = "polling-signature-a90c44";
/// In the query of delivery addresses.
pub const DELIVERY_SIGNATURE: &str = "delivery-signature-2be617";

/// A client of this server, with the same spread of delays at each run, and a wall clock that runs
/// with tokio's.
pub fn builder(server: &ScriptedServer) -> ClientBuilder {
    let started = Instant::now();
    Client::builder().api_key(KEY).base_url(server.url("")).random_seed(7).wall_clock(move || {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000) + started.elapsed()
    })
}

pub fn client(server: &ScriptedServer) -> Client {
    builder(server).build().expect("the settings are complete")
}

pub fn fox() -> Gen2Pro {
    Gen2Pro::new("a red fox in the snow")
}

/// Takes the submission: polled at `/poll/ID` of `server`.
pub fn accepted(server: &ScriptedServer, id: &str) -> Answer {
    Answer::json(200, &json!({ "id": id, "polling_url": polling_url(server, id), "cost": 4 }))
}

pub fn polling_url(server: &ScriptedServer, id: &str) -> String {
    server.url(&format!("/poll/{id}?signature={POLLING_SIGNATURE}"))
}

pub fn status(status: &str) -> Answer {
    Answer::json(200, &json!({ "id": "t1", "status": status, "result": null }))
}

/// `Ready`, with a picture at `/fox.png` of `delivery`.
pub fn ready(delivery: &ScriptedServer) -> Answer {
    Answer::json(200, &ready_body(&delivery_url(delivery)))
}

pub fn ready_body(address: &str) -> Value {
    json!({ "id": "t1", "status": "Ready", "result": { "sample": address } })
}

pub fn delivery_url(delivery: &ScriptedServer) -> String {
    delivery.url(&format!("/fox.png?signature={DELIVERY_SIGNATURE}"))
}

/// A task that `server` took, which stands for a submission where that is not what is tested.
pub fn task(client: &Client, server: &ScriptedServer) -> Task {
    client.task(reference(server))
}

pub fn reference(server: &ScriptedServer) -> TaskRef {
    TaskRef::new("t1", polling_url(server, "t1"), Some("gen-2-pro".to_owned()))
}

/// The reference of a task whose submission was answered by [`accepted`].
pub fn submitted(server: &ScriptedServer) -> TaskRef {
    let known = json!({
        "id": "t1",
        "polling_url": polling_url(server, "t1"),
        "operation": "gen-2-pro",
        "region": "global",
        "cost": 4.0,
        "submitted_at": 1_800_000_000,
    });
    serde_json::from_value(known).expect("a reference as it is stored")
}

/// A picture whose address is at `delivery`; `server` is asked for it once.
pub async fn picture(
    client: &Client,
    server: &ScriptedServer,
    delivery: &ScriptedServer,
) -> Picture {
    server.answer(ready(delivery));
    task(client, server).wait().await.expect("the task is ready")
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

/// The chunks of a PNG of this length, whose data differs all over.
pub fn large_png(length: usize) -> Vec<u8> {
    let (head, tail) = PNG.split_at(PNG.len() - 12);
    let data = (length - PNG.len() - 12) as u32;
    let mut png = [head, &data.to_be_bytes(), b"IDAT"].concat();
    png.extend((0..data + 4).map(|index| (index.wrapping_mul(2_654_435_761) >> 13) as u8));
    png.extend_from_slice(tail);
    png
}

/// That an error tells its kind and nothing of the secrets, whether it is shown or debugged, its
/// causes too.
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

#[track_caller]
pub fn assert_no_secret(text: &str) {
    for secret in [KEY, WEBHOOK_SECRET, POLLING_SIGNATURE, DELIVERY_SIGNATURE] {
        assert!(!text.contains(secret), "`{secret}` stands in {text}");
    }
}
