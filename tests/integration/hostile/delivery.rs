//! Delivery URLs that fail or return something else.

use tokio::time::{self, Instant};

use crate::support::{
    reply::Reply,
    samples::{
        self, PNG, assert_kind, client, fox, large_png, ready, ready_picture, ready_picture_with,
        seconds,
    },
    scripted::ScriptedServer,
};
use imagekiln::{Billing, ErrorKind};

#[tokio::test(start_paused = true)]
async fn a_delivery_never_receives_the_key_even_at_the_service() {
    let service = ScriptedServer::start().await;
    service
        .reply(samples::accepted(&service, "t1"))
        .reply(samples::status("Pending"))
        .reply(ready(&service))
        .reply(Reply::html(503))
        .reply(Reply::png(PNG));

    let picture = client(&service).submit(fox()).await.unwrap().wait().await.unwrap();
    picture.bytes().await.unwrap();

    let received = service.received();
    received[..3].iter().for_each(|request| request.assert_has_key());
    received[3..].iter().for_each(|request| request.assert_has_no_key());
    assert_eq!(service.url(&received[4].target), samples::delivery_url(&service));
}

#[tokio::test(start_paused = true)]
async fn a_broken_download_is_retried_until_complete() {
    let png = large_png(60_000);
    let half = &png[..30_000];
    for broken in [
        Reply::png(half).declaring_length(png.len()).then_close(),
        Reply::png(half).declaring_length(png.len()).then_reset(),
        Reply::cut_chunks(half),
        // The response ends normally, but the picture is incomplete.
        Reply::png(half),
        Reply::png(half).until_close(),
        Reply::close(),
        Reply::reset(),
        Reply::silence(),
        Reply::png(half).declaring_length(png.len()).then_silence(),
        Reply::html(503),
    ] {
        let (_service, delivery, picture) = ready_picture().await;
        delivery.reply(broken).reply(Reply::png(&png));

        let bytes = picture.bytes().await.unwrap();

        assert_eq!(bytes.len(), png.len());
        assert!(bytes == png);
        assert_eq!(delivery.received().len(), 2);
        delivery.assert_no_request_has_the_key();
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_that_is_not_a_picture_is_an_error() {
    use ErrorKind::{Damaged, Download};
    type Make = fn() -> Reply;
    let cases: [(Make, ErrorKind, &str); 8] = [
        (|| Reply::html(200), Damaged, "not a picture"),
        (|| Reply::status(200), Damaged, "not a picture"),
        (
            || Reply::status(200).header("Content-Type", "image/png").body("not yet"),
            Damaged,
            "not a picture",
        ),
        (|| Reply::status(200).body(&PNG[1..]), Damaged, "not a picture"),
        (|| Reply::png(&PNG[..20]).until_close(), Damaged, "is truncated"),
        (
            // Each time at the same byte.
            || Reply::png(&PNG[..20]).declaring_length(PNG.len()).then_close(),
            Damaged,
            "the connection broke",
        ),
        (|| Reply::status(204), Download, "204"),
        (|| Reply::status(404), Download, "404"),
    ];
    for (reply, kind, expected) in cases {
        let (service, delivery, picture) = ready_picture().await;
        delivery.otherwise(move |_| reply());
        // After a refusal, the client polls for the current URL.
        let ready = samples::ready_body(&samples::delivery_url(&delivery));
        service.otherwise(move |_| Reply::json(200, &ready));

        let error = picture.bytes().await.unwrap_err();

        assert_kind(&error, kind);
        assert!(error.to_string().contains(expected), "{expected}: {error}");
        assert_eq!(error.task(), Some(picture.task()));
        assert_ne!(error.billing(), Billing::Unknown);
        assert_eq!(delivery.received().len(), 4);
        delivery.assert_no_request_has_the_key();
    }
}

#[tokio::test(start_paused = true)]
async fn a_download_that_falls_silent_fails_at_the_limit() {
    let (_service, delivery, picture) =
        ready_picture_with(|builder| builder.silence_timeout(seconds(20))).await;
    delivery
        .reply(Reply::png(&PNG[..40]).declaring_length(PNG.len()).then_silence())
        .reply(Reply::png(PNG));
    let started = Instant::now();

    picture.bytes().await.unwrap();

    assert_eq!(started.elapsed().as_secs(), 20);
}

#[tokio::test(start_paused = true)]
async fn a_slow_download_that_progresses_completes() {
    let (_service, delivery, picture) =
        ready_picture_with(|builder| builder.silence_timeout(seconds(20))).await;
    let png = large_png(20_000);
    let (reply, pieces) = Reply::png(b"").declaring_length(png.len()).in_pieces();
    delivery.reply(reply);
    let download = tokio::spawn(async move { picture.bytes().await });

    // Twice the minimum progress in four chunks, of which none is enough alone.
    for piece in png.chunks(512) {
        time::sleep(seconds(5)).await;
        pieces.send(piece);
    }

    assert!(download.await.unwrap().unwrap() == png);
    delivery.only_request().assert_has_no_key();
}
