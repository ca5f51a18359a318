//! Uploads: the streamed body equals the body that plain serialization produces.

use std::{fs, path::PathBuf};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{net::TcpSocket, time};

use crate::support::{
    hold_clock,
    received::Received,
    reply::Reply,
    samples::{self, assert_billing, assert_kind, client, fox, large_png, seconds},
    scripted::ScriptedServer,
};
use imagekiln::{Billing, ErrorKind, ImageInput, types::Gen2Pro};

/// The number of image bytes that the SDK encodes at a time.
const CHUNK: usize = 384 * 1024;

fn assert_is_complete_json(post: &Received, expected: &Value) {
    assert!(post.complete);
    assert_eq!(post.header("content-length"), Some(post.body.len().to_string().as_str()));
    assert_eq!(post.header("transfer-encoding"), None);
    assert_eq!(post.header("content-type"), Some("application/json"));
    assert_eq!(post.header("expect"), None);
    // Not `assert_eq`, which would print megabytes.
    assert!(post.json() == *expected, "the body differs from plain serialization");
    post.assert_has_key();
}

pub(super) fn file_in(directory: &TempDir, bytes: &[u8]) -> PathBuf {
    let path = directory.path().join("reference.png");
    fs::write(&path, bytes).unwrap();
    path
}

#[tokio::test(start_paused = true)]
async fn images_of_every_length_are_encoded_exactly() {
    let directory = TempDir::new().unwrap();
    let lengths = [1, 2, 3, 4, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 3 * CHUNK + 2];
    let image = large_png(3 * CHUNK + 2);
    let service = ScriptedServer::start().await;
    // The shortest ones are not images.
    let client = samples::builder(&service).validation(false).build().unwrap();
    for length in lengths {
        let bytes = &image[..length];
        let expected = json!({ "prompt": "p", "input_image": STANDARD.encode(bytes) });
        for input in
            [ImageInput::bytes(bytes.to_vec()), ImageInput::path(file_in(&directory, bytes))]
        {
            service.reply(samples::accepted(&service, "t1"));

            let _ = client.submit(Gen2Pro::new("p").input_image(input)).await.unwrap();

            assert_is_complete_json(service.posts().last().unwrap(), &expected);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_upload_is_repeated_for_a_retry() {
    let directory = TempDir::new().unwrap();
    let image = large_png(1_500_000);
    let request = fox().input_image(file_in(&directory, &image)).input_image_2(image.clone());
    let service = ScriptedServer::start().await;
    service
        .reply(Reply::json(429, &json!({})))
        .reply(Reply::json(429, &json!({})))
        .reply(samples::accepted(&service, "t1"));
    let encoded = STANDARD.encode(&image);
    let expected = json!({
        "prompt": "a red fox in the snow", "input_image": encoded, "input_image_2": encoded,
    });

    let _ = client(&service).submit(request).await.unwrap();

    let posts = service.posts();
    assert_eq!(posts.len(), 3);
    posts.iter().for_each(|post| assert_is_complete_json(post, &expected));
}

/// A server with small buffers, so that the client cannot send what the server does not read.
pub(super) async fn server_of_small_buffers() -> ScriptedServer {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(64 * 1024).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    ScriptedServer::on(socket.listen(16).unwrap())
}

/// Every step of the server takes almost the whole limit, and all steps together many times the
/// limit.
///
/// The test advances the clock itself, because both sides sometimes wait for system buffers.
#[tokio::test(start_paused = true)]
async fn a_slow_upload_that_progresses_completes() {
    /// More than the system buffers in transit.
    const STEP: usize = 5 * 1024 * 1024;
    let _held = hold_clock();
    let image = large_png(16_000_000);
    let base64 = ImageInput::base64(STANDARD.encode(&image));
    for (case, request) in [
        ("base64", fox().input_image(base64)),
        ("an image", fox().input_image(image)),
        ("text", Gen2Pro::new("A".repeat(22_000_000))),
    ] {
        let service = server_of_small_buffers().await;
        let (reply, pace) = samples::accepted(&service, "t1").reading_slowly();
        service.reply(reply);
        let client = samples::builder(&service).silence_timeout(seconds(45)).build().unwrap();
        let submission = tokio::spawn(async move { client.submit(request).await });
        service.wait_for_heads(1).await;

        for _ in 0..4 {
            pace.read(STEP).await;
            for _ in 0..8 {
                time::advance(seconds(5)).await;
            }
        }
        drop(pace);

        let task = submission.await.unwrap().unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(task.id(), "t1");
        let post = service.only_request();
        assert!(post.complete && post.body.len() > 4 * STEP, "{case}");
        post.assert_has_key();
    }
}

/// An incomplete request cannot create a task.
#[tokio::test(start_paused = true)]
async fn an_upload_that_breaks_before_its_last_byte_is_not_billed() {
    let directory = TempDir::new().unwrap();
    let image = large_png(16_000_000);
    for request in [
        fox().input_image(image.clone()),
        fox().input_image(file_in(&directory, &image)),
        Gen2Pro::new("A".repeat(22_000_000)),
    ] {
        let service = server_of_small_buffers().await;
        service.reply(Reply::reset().early());

        let error = client(&service).submit(request).await.unwrap_err();

        assert_billing(&error, ErrorKind::Network, Billing::NotBilled);
        assert!(!service.only_request().complete);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stalled_upload_fails_at_the_limit() {
    let _held = hold_clock();
    let service = server_of_small_buffers().await;
    let (reply, pace) = samples::accepted(&service, "t1").reading_slowly();
    service.reply(reply);
    let client = samples::builder(&service).silence_timeout(seconds(45)).build().unwrap();
    let request = fox().input_image(large_png(16_000_000));
    let submission = tokio::spawn(async move { client.submit(request).await });
    service.wait_for_heads(1).await;

    let mut waited = 0;
    while !submission.is_finished() {
        time::advance(seconds(5)).await;
        waited += 5;
        // A step may be one frame, until the buffers of the system are full.
        assert!(waited <= 3_000, "the upload does not fail");
    }

    let error = submission.await.unwrap().unwrap_err();
    drop(pace);
    assert_kind(&error, ErrorKind::Network);
    // The last byte was not sent, and an incomplete document is not accepted.
    assert_ne!(error.billing(), Billing::Unknown, "{error:?}");
    assert!(!service.only_request().complete);
}
