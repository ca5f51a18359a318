//! How large and how slow a download may be.

use std::time::Duration;

use imagekiln::{ErrorKind, Picture};
use serde_json::json;
use tokio::time::{self, Instant};

use crate::support::{
    answer::Answer,
    samples::{self, PNG, assert_kind, client, large_png, picture, seconds},
    scripted::ScriptedServer,
};

async fn with_limit(bytes: u64, service: &ScriptedServer, delivery: &ScriptedServer) -> Picture {
    let client = samples::builder(service).max_picture_bytes(bytes).build().unwrap();
    picture(&client, service, delivery).await
}

#[tokio::test(start_paused = true)]
async fn a_picture_beyond_the_limit_is_refused_and_not_retried() {
    let directory = tempfile::tempdir().unwrap();
    let png = large_png(5001);
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let picture = with_limit(5000, &service, &delivery).await;
    for answer in [
        || Answer::png(&large_png(5001)),
        || Answer::png(&large_png(5001)).until_close(),
        // Refused by its length, before its bytes arrive.
        || Answer::png(b"").declaring_length(1 << 40).then_silence(),
    ] {
        delivery.answer(answer()).answer(answer()).answer(answer());
        for error in [
            picture.bytes().await.unwrap_err(),
            picture.bytes_unchecked().await.unwrap_err(),
            picture.save(directory.path().join("fox.png")).await.unwrap_err(),
        ] {
            assert_kind(&error, ErrorKind::Delivery);
            assert!(error.to_string().contains("5000 bytes"), "{error}");
            assert!(error.advice().unwrap().contains("max_picture_bytes"), "{error}");
            assert_eq!(error.task(), Some(picture.task()));
        }
    }
    assert_eq!(delivery.received().len(), 9);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);

    delivery.answer(Answer::png(&png[..5000])).answer(Answer::png(&large_png(5000)));
    assert_eq!(picture.bytes_unchecked().await.unwrap().len(), 5000);
    assert_eq!(picture.bytes().await.unwrap().len(), 5000);
}

#[tokio::test(start_paused = true)]
async fn a_download_of_single_bytes_is_given_up() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let client = samples::builder(&service).silence_timeout(seconds(20)).build().unwrap();
    let picture = picture(&client, &service, &delivery).await;
    let png = large_png(3000);
    let (answer, pieces) = Answer::png(b"").declaring_length(png.len()).in_pieces();
    delivery.answer(answer).answer(Answer::png(&png));
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

/// No piece of it comes to 1 KiB, and all that is left always does within the limit.
#[tokio::test(start_paused = true)]
async fn a_small_picture_in_pieces_is_fetched() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let picture = picture(&client(&service), &service, &delivery).await;
    let (answer, pieces) = Answer::png(b"").declaring_length(PNG.len()).in_pieces();
    delivery.answer(answer);
    let download = tokio::spawn(async move { picture.bytes().await });

    for piece in PNG.chunks(10) {
        time::sleep(seconds(7)).await;
        pieces.send(piece);
    }

    assert_eq!(download.await.unwrap().unwrap(), PNG);
    delivery.only_request();
}

#[tokio::test(start_paused = true)]
async fn a_download_takes_an_hour_at_most() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let picture = picture(&client(&service), &service, &delivery).await;
    let png = large_png(3_000_000);
    let (answer, pieces) = Answer::png(b"").declaring_length(png.len()).in_pieces();
    delivery.answer(answer);
    let started = Instant::now();
    let download = tokio::spawn(async move { (picture.bytes().await, started.elapsed()) });

    for piece in png.chunks(2000).take(140) {
        time::sleep(seconds(30)).await;
        pieces.send(piece);
    }

    let (bytes, took) = download.await.unwrap();
    let error = bytes.unwrap_err();
    assert_kind(&error, ErrorKind::Delivery);
    assert!(error.message().contains("took longer than 3600 s"), "{error}");
    assert!((3600..3602).contains(&took.as_secs()), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn the_deadline_of_a_download_holds_over_all_its_tries() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let client = samples::builder(&service).download_deadline(seconds(2)).build().unwrap();
    let picture = picture(&client, &service, &delivery).await;
    delivery.answer(Answer::json(503, &json!({}))).answer(Answer::silence());
    let started = Instant::now();

    let error = picture.bytes().await.unwrap_err();

    assert_kind(&error, ErrorKind::Delivery);
    assert!((1900..2100).contains(&started.elapsed().as_millis()), "{:?}", started.elapsed());
    assert_eq!(delivery.received().len(), 2);
}

/// `Duration::MAX` could not be added to an instant.
#[tokio::test(start_paused = true)]
async fn a_silence_limit_without_end_is_possible() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let client = samples::builder(&service).silence_timeout(Duration::MAX).build().unwrap();
    let picture = picture(&client, &service, &delivery).await;
    delivery.answer(Answer::png(PNG));

    assert_eq!(picture.bytes().await.unwrap(), PNG);
}
