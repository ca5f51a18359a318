//! Uploads: the body that is streamed is the body that plain serialisation gives.

use std::{fs, path::PathBuf};

use base64::{Engine, engine::general_purpose::STANDARD};
use imagekiln::{ErrorKind, ImageInput, types::Gen2Pro};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{net::TcpSocket, time};

use crate::support::{
    answer::Answer,
    hold_clock,
    received::Received,
    samples::{self, assert_kind, client, fox, large_png, seconds},
    scripted::ScriptedServer,
};

/// How many bytes of an image the SDK encodes at a time.
const CHUNK: usize = 384 * 1024;

fn assert_is_whole_json(post: &Received, expected: &Value) {
    assert!(post.complete);
    assert_eq!(post.header("content-length"), Some(post.body.len().to_string().as_str()));
    assert_eq!(post.header("transfer-encoding"), None);
    assert_eq!(post.header("content-type"), Some("application/json"));
    assert_eq!(post.header("expect"), None);
    // Not `assert_eq`, which would print megabytes.
    assert!(post.json() == *expected, "another body than plain serialisation gives");
    post.assert_has_key();
}

pub(super) fn file_in(directory: &TempDir, bytes: &[u8]) -> PathBuf {
    let path = directory.path().join("reference.png");
    fs::write(&path, bytes).unwrap();
    path
}

#[tokio::test(start_paused = true)]
async fn of_every_form_of_image_arrive_as_plain_json() {
    let directory = TempDir::new().unwrap();
    let image = large_png(2_000_001);
    let request = Gen2Pro::new("quotes \" and \\ and \u{1f98a} and \n")
        .input_image(file_in(&directory, &image))
        .input_image_2(image.clone())
        .input_image_3(ImageInput::base64(STANDARD.encode(&image)))
        .input_image_4(ImageInput::url("https://example.com/moon.jpg?a=1&b=\"2\""))
        .seed(7);
    let service = ScriptedServer::start().await;
    service.answer(samples::accepted(&service, "t1"));
    let encoded = STANDARD.encode(&image);
    let expected = json!({
        "prompt": "quotes \" and \\ and \u{1f98a} and \n",
        "input_image": encoded,
        "input_image_2": encoded,
        "input_image_3": encoded,
        "input_image_4": "https://example.com/moon.jpg?a=1&b=\"2\"",
        "seed": 7,
    });

    let _ = client(&service).submit(request).await.unwrap();

    assert_is_whole_json(&service.only_request(), &expected);
}

#[tokio::test(start_paused = true)]
async fn of_every_length_are_exact() {
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
            service.answer(samples::accepted(&service, "t1"));

            let _ = client.submit(Gen2Pro::new("p").input_image(input)).await.unwrap();

            assert_is_whole_json(service.posts().last().unwrap(), &expected);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn are_made_again_for_a_retry() {
    let directory = TempDir::new().unwrap();
    let image = large_png(1_500_000);
    let request = fox().input_image(file_in(&directory, &image)).input_image_2(image.clone());
    let service = ScriptedServer::start().await;
    service
        .answer(Answer::json(429, &json!({})))
        .answer(Answer::json(429, &json!({})))
        .answer(samples::accepted(&service, "t1"));
    let encoded = STANDARD.encode(&image);
    let expected = json!({
        "prompt": "a red fox in the snow", "input_image": encoded, "input_image_2": encoded,
    });

    let _ = client(&service).submit(request).await.unwrap();

    let posts = service.posts();
    assert_eq!(posts.len(), 3);
    posts.iter().for_each(|post| assert_is_whole_json(post, &expected));
}

#[tokio::test(start_paused = true)]
async fn of_files_that_are_not_there_send_nothing() {
    let directory = TempDir::new().unwrap();
    let service = ScriptedServer::start().await;
    for path in [directory.path().join("missing.png"), directory.path().to_owned()] {
        let error = client(&service).submit(fox().input_image(path.clone())).await.unwrap_err();

        assert_kind(&error, ErrorKind::File);
        assert!(!error.may_have_been_billed());
        assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    }
    service.assert_received_nothing();
}

/// A server that buffers little, so that what it does not read, the client can't send.
pub(super) async fn server_of_small_buffers() -> ScriptedServer {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(64 * 1024).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    ScriptedServer::on(socket.listen(16).unwrap())
}

/// Every step of the server takes nearly the limit, and all of them many times it.
///
/// The test moves the clock, because the system's buffers make both sides wait where nothing is
/// wrong.
async fn assert_not_cut_when_slow(request: Gen2Pro) {
    /// More than the system buffers on the way.
    const STEP: usize = 5 * 1024 * 1024;
    let _held = hold_clock();
    let service = server_of_small_buffers().await;
    let (answer, pace) = samples::accepted(&service, "t1").reading_slowly();
    service.answer(answer);
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

    assert_eq!(submission.await.unwrap().unwrap().id(), "t1");
    let post = service.only_request();
    assert!(post.complete && post.body.len() > 4 * STEP);
    post.assert_has_key();
}

#[tokio::test(start_paused = true)]
async fn that_are_slow_and_keep_moving_are_not_cut() {
    assert_not_cut_when_slow(fox().input_image(large_png(16_000_000))).await;
}

#[tokio::test(start_paused = true)]
async fn of_ready_base64_that_are_slow_and_keep_moving_are_not_cut() {
    let image = ImageInput::base64(STANDARD.encode(large_png(16_000_000)));
    assert_not_cut_when_slow(fox().input_image(image)).await;
}

#[tokio::test(start_paused = true)]
async fn of_nothing_but_text_that_are_slow_and_keep_moving_are_not_cut() {
    assert_not_cut_when_slow(Gen2Pro::new("A".repeat(22_000_000))).await;
}

/// Whatever the service makes of half a request, it can't be a task.
#[tokio::test(start_paused = true)]
async fn that_break_before_their_last_byte_are_not_billed() {
    let directory = TempDir::new().unwrap();
    let image = large_png(16_000_000);
    for request in [
        fox().input_image(image.clone()),
        fox().input_image(file_in(&directory, &image)),
        Gen2Pro::new("A".repeat(22_000_000)),
    ] {
        let service = server_of_small_buffers().await;
        service.answer(Answer::reset().early());

        let error = client(&service).submit(request).await.unwrap_err();

        assert_kind(&error, ErrorKind::Network);
        assert!(!error.may_have_been_billed(), "{error}");
        assert!(!service.only_request().complete);
    }
}

#[tokio::test(start_paused = true)]
async fn that_stop_moving_are_cut_at_the_limit() {
    let _held = hold_clock();
    let service = server_of_small_buffers().await;
    let (answer, pace) = samples::accepted(&service, "t1").reading_slowly();
    service.answer(answer);
    let client = samples::builder(&service).silence_timeout(seconds(45)).build().unwrap();
    let request = fox().input_image(large_png(16_000_000));
    let submission = tokio::spawn(async move { client.submit(request).await });
    service.wait_for_heads(1).await;

    let mut waited = 0;
    while !submission.is_finished() {
        time::advance(seconds(5)).await;
        waited += 5;
        assert!(waited <= 300, "the silence has no end");
    }

    let error = submission.await.unwrap().unwrap_err();
    drop(pace);
    assert_kind(&error, ErrorKind::Network);
    // The last byte never left, and half a document is not accepted.
    assert!(!error.may_have_been_billed(), "{error:?}");
    assert!(!service.only_request().complete);
}
