//! Fetching the picture from a delivery URL that fails or lies.

use imagekiln::ErrorKind;
use tokio::time::{self, Instant};

use crate::support::{
    answer::Answer,
    samples::{self, PNG, assert_kind, client, fox, large_png, picture, ready, seconds},
    scripted::ScriptedServer,
};

#[tokio::test(start_paused = true)]
async fn never_gets_the_key_not_even_at_the_service_itself() {
    let service = ScriptedServer::start().await;
    service
        .answer(samples::accepted(&service, "t1"))
        .answer(samples::status("Pending"))
        .answer(ready(&service))
        .answer(Answer::html(503))
        .answer(Answer::png(PNG));

    let picture = client(&service).submit(fox()).await.unwrap().wait().await.unwrap();
    picture.bytes().await.unwrap();

    let received = service.received();
    received[..3].iter().for_each(|request| request.assert_has_key());
    received[3..].iter().for_each(|request| request.assert_has_no_key());
    assert_eq!(service.url(&received[4].target), samples::delivery_url(&service));
}

#[tokio::test(start_paused = true)]
async fn a_download_that_breaks_is_repeated_until_it_is_whole() {
    let png = large_png(300_000);
    let half = &png[..150_000];
    for broken in [
        Answer::png(half).declaring_length(png.len()).then_close(),
        Answer::png(half).declaring_length(png.len()).then_reset(),
        Answer::cut_chunks(half),
        // The end of the response looks like the end of the picture.
        Answer::png(half),
        Answer::png(half).until_close(),
        Answer::close(),
        Answer::reset(),
        Answer::silence(),
        Answer::png(half).declaring_length(png.len()).then_silence(),
        Answer::html(503),
    ] {
        let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
        let picture = picture(&client(&service), &service, &delivery).await;
        delivery.answer(broken).answer(Answer::png(&png));

        let bytes = picture.bytes().await.unwrap();

        assert_eq!(bytes.len(), png.len());
        assert!(bytes == png);
        assert_eq!(delivery.received().len(), 2);
        delivery.assert_no_request_has_the_key();
    }
}

#[tokio::test(start_paused = true)]
async fn a_picture_without_a_declared_length_is_taken() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let picture = picture(&client(&service), &service, &delivery).await;
    delivery.answer(Answer::png(PNG).until_close());

    assert_eq!(picture.bytes().await.unwrap(), PNG);
}

#[tokio::test(start_paused = true)]
async fn a_response_that_is_not_a_picture_is_an_error() {
    type Make = fn() -> Answer;
    let cases: [(Make, &str); 8] = [
        (|| Answer::html(200), "not a picture"),
        (|| Answer::status(200), "not a picture"),
        (
            || Answer::status(200).header("Content-Type", "image/png").body("not yet"),
            "not a picture",
        ),
        (|| Answer::status(200).body(&PNG[1..]), "not a picture"),
        (|| Answer::png(&PNG[..20]).until_close(), "ends in the middle"),
        (
            || Answer::png(&PNG[..20]).declaring_length(PNG.len()).then_close(),
            "the connection broke",
        ),
        (|| Answer::status(204), "204"),
        (|| Answer::status(404), "404"),
    ];
    for (answer, said) in cases {
        let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
        let picture = picture(&client(&service), &service, &delivery).await;
        delivery.otherwise(move |_| answer());

        let error = picture.bytes().await.unwrap_err();

        assert_kind(&error, ErrorKind::Delivery);
        assert!(error.to_string().contains(said), "{said}: {error}");
        assert_eq!(error.task(), Some(picture.task()));
        assert!(!error.may_have_been_billed());
        assert_eq!(delivery.received().len(), 4);
        delivery.assert_no_request_has_the_key();
    }
}

#[tokio::test(start_paused = true)]
async fn silence_in_the_middle_ends_at_the_limit() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let client = samples::builder(&service).silence_timeout(seconds(20)).build().unwrap();
    let picture = picture(&client, &service, &delivery).await;
    delivery
        .answer(Answer::png(&PNG[..40]).declaring_length(PNG.len()).then_silence())
        .answer(Answer::png(PNG));
    let started = Instant::now();

    picture.bytes().await.unwrap();

    assert_eq!(started.elapsed().as_secs(), 20);
}

#[tokio::test(start_paused = true)]
async fn a_slow_download_that_keeps_coming_is_not_cut() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let client = samples::builder(&service).silence_timeout(seconds(20)).build().unwrap();
    let picture = picture(&client, &service, &delivery).await;
    let png = large_png(20_000);
    let (answer, pieces) = Answer::png(b"").declaring_length(png.len()).in_pieces();
    delivery.answer(answer);
    let download = tokio::spawn(async move { picture.bytes().await });

    // Twice the least progress, in four pieces: no piece alone is enough.
    for piece in png.chunks(512) {
        time::sleep(seconds(5)).await;
        pieces.send(piece);
    }

    assert!(download.await.unwrap().unwrap() == png);
    delivery.only_request().assert_has_no_key();
}
