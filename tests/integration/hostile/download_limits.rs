//! The limits on the size and the duration of downloads.

use std::time::Duration;

use futures_util::TryStreamExt as _;
use serde_json::json;
use tokio::time::{self, Instant};

use crate::support::{
    reply::Reply,
    samples::{
        self, PNG, assert_kind, large_png, picture, ready_picture, ready_picture_with, seconds,
    },
    scripted::ScriptedServer,
};
use imagekiln::{ErrorKind, Picture};

async fn with_limit(bytes: u64, service: &ScriptedServer, delivery: &ScriptedServer) -> Picture {
    let client = samples::builder(service).max_picture_bytes(bytes).build().unwrap();
    picture(&client, service, delivery).await
}

#[tokio::test(start_paused = true)]
async fn a_picture_above_the_size_limit_is_not_retried() {
    let directory = tempfile::tempdir().unwrap();
    let png = large_png(5001);
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let picture = with_limit(5000, &service, &delivery).await;
    for reply in [
        || Reply::png(&large_png(5001)),
        || Reply::png(&large_png(5001)).until_close(),
        // Refused by its declared length, before its bytes arrive.
        || Reply::png(b"").declaring_length(1 << 40).then_silence(),
    ] {
        delivery.reply(reply()).reply(reply()).reply(reply());
        for error in [
            picture.bytes().await.unwrap_err(),
            picture.bytes_unchecked().await.unwrap_err(),
            picture.save(directory.path().join("fox.png")).await.unwrap_err(),
        ] {
            assert_kind(&error, ErrorKind::Download);
            assert!(error.to_string().contains("5000 bytes"), "{error}");
            assert!(error.function() == Some("ClientBuilder::max_picture_bytes"), "{error}");
            assert_eq!(error.task(), Some(picture.task()));
        }
    }
    assert_eq!(delivery.received().len(), 9);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);

    delivery.reply(Reply::png(&png[..5000])).reply(Reply::png(&large_png(5000)));
    assert_eq!(picture.bytes_unchecked().await.unwrap().len(), 5000);
    assert_eq!(picture.bytes().await.unwrap().len(), 5000);
}

#[tokio::test(start_paused = true)]
async fn a_download_of_single_bytes_fails() {
    let (_service, delivery, picture) =
        ready_picture_with(|builder| builder.silence_timeout(seconds(20))).await;
    let png = large_png(3000);
    let (reply, pieces) = Reply::png(b"").declaring_length(png.len()).in_pieces();
    delivery.reply(reply).reply(Reply::png(&png));
    let started = Instant::now();
    let download = tokio::spawn(async move { (picture.bytes().await, started.elapsed()) });

    for byte in png.chunks(1).take(150) {
        time::sleep(Duration::from_millis(200)).await;
        pieces.send(byte);
    }

    let (bytes, took) = download.await.unwrap();
    assert!(bytes.unwrap() == png);
    assert!((20..22).contains(&took.as_secs()), "{took:?}");
}

/// No chunk has 1 KiB, but the picture is complete within the limit.
#[tokio::test(start_paused = true)]
async fn a_small_picture_in_pieces_is_fetched() {
    let (_service, delivery, picture) = ready_picture().await;
    let (reply, pieces) = Reply::png(b"").declaring_length(PNG.len()).in_pieces();
    delivery.reply(reply);
    let download = tokio::spawn(async move { picture.bytes().await });

    for piece in PNG.chunks(10) {
        time::sleep(seconds(7)).await;
        pieces.send(piece);
    }

    assert_eq!(download.await.unwrap().unwrap(), PNG);
    delivery.only_request();
}

#[tokio::test(start_paused = true)]
async fn a_download_takes_at_most_an_hour() {
    let (_service, delivery, picture) = ready_picture().await;
    let png = large_png(3_000_000);
    let (reply, pieces) = Reply::png(b"").declaring_length(png.len()).in_pieces();
    delivery.reply(reply);
    let started = Instant::now();
    let download = tokio::spawn(async move { (picture.bytes().await, started.elapsed()) });

    for piece in png.chunks(2000).take(140) {
        time::sleep(seconds(30)).await;
        pieces.send(piece);
    }

    let (bytes, took) = download.await.unwrap();
    let error = bytes.unwrap_err();
    assert_kind(&error, ErrorKind::Download);
    assert!(error.message().contains("took longer than 3600 s"), "{error}");
    assert!((3600..3602).contains(&took.as_secs()), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn the_download_deadline_applies_to_all_attempts() {
    let (_service, delivery, picture) =
        ready_picture_with(|builder| builder.download_deadline(seconds(2))).await;
    delivery.reply(Reply::json(503, &json!({}))).reply(Reply::silence());
    let started = Instant::now();

    let error = picture.bytes().await.unwrap_err();

    assert_kind(&error, ErrorKind::Download);
    assert!((1900..2100).contains(&started.elapsed().as_millis()), "{:?}", started.elapsed());
    assert_eq!(delivery.received().len(), 2);
}

/// The client polls for a new delivery URL after a refusal.
#[tokio::test(start_paused = true)]
async fn the_download_deadline_applies_to_a_new_delivery_url() {
    let (service, delivery, picture) =
        ready_picture_with(|builder| builder.download_deadline(seconds(2))).await;
    delivery.reply(Reply::json(403, &json!({})));
    service.reply(Reply::silence());
    let started = Instant::now();

    let error = picture.bytes().await.unwrap_err();

    assert_kind(&error, ErrorKind::Download);
    assert!((1900..2100).contains(&started.elapsed().as_millis()), "{:?}", started.elapsed());
}

/// `Duration::MAX` would overflow an `Instant`.
#[tokio::test(start_paused = true)]
async fn the_silence_limit_may_be_infinite() {
    let (_service, delivery, picture) =
        ready_picture_with(|builder| builder.silence_timeout(Duration::MAX)).await;
    delivery.reply(Reply::png(PNG));

    assert_eq!(picture.bytes().await.unwrap(), PNG);
}

/// The time that the reader of a stream takes is not the time of the download.
#[tokio::test(start_paused = true)]
async fn a_slow_reader_is_not_a_stalled_download() {
    let (_service, delivery, picture) = ready_picture().await;
    let png = large_png(20_000);
    let (reply, pieces) = Reply::png(b"").declaring_length(png.len()).in_pieces();
    delivery.reply(reply);
    let (first, rest) = png.split_at(10_000);
    pieces.send(first);
    let mut stream = picture.stream().await.unwrap();
    let mut bytes = Vec::new();
    while bytes.len() < first.len() {
        bytes.extend(stream.try_next().await.unwrap().unwrap());
    }

    time::sleep(seconds(600)).await;
    let (reading, ()) = tokio::join!(stream.try_collect::<Vec<_>>(), async {
        time::sleep(seconds(30)).await;
        pieces.send(rest);
    });

    bytes.extend(reading.unwrap().concat());
    assert!(bytes == png);
}

/// The retries that all downloads share run out, but no picture is given up for that.
#[tokio::test(start_paused = true)]
async fn many_failing_downloads_make_all_their_attempts() {
    let (_service, delivery, picture) = ready_picture().await;
    delivery.otherwise(|_| Reply::html(503));
    let downloads = (0..30).map(|_| picture.bytes());

    let outcomes = futures_util::future::join_all(downloads).await;

    outcomes.iter().for_each(|outcome| {
        assert_kind(outcome.as_ref().unwrap_err(), ErrorKind::Download);
    });
    assert_eq!(delivery.received().len(), 30 * 4);
}
