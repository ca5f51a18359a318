//! A delivery URL that is no longer valid, and the fresh one that another poll may give.

use std::{
    sync::{Arc, Mutex},
    time::SystemTime,
};

use imagekiln::{DELIVERY_VALIDITY, ErrorKind};
use tokio::time::{self, Instant};

use crate::support::{
    answer::Answer,
    samples::{self, DELIVERY_SIGNATURE, PNG, assert_kind, client, picture, ready, seconds},
    scripted::ScriptedServer,
};

#[tokio::test(start_paused = true)]
async fn expires_after_ten_minutes() {
    for status in [401, 403, 404, 410] {
        let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
        let picture = picture(&client(&service), &service, &delivery).await;
        time::advance(DELIVERY_VALIDITY).await;
        delivery.answer(Answer::status(status));
        // The service has no fresh address to give.
        service.answer(ready(&delivery));

        let error = picture.bytes().await.unwrap_err();

        assert_kind(&error, ErrorKind::Expired);
        assert_eq!((error.status(), error.task()), (Some(status), Some(picture.task())));
        delivery.only_request().assert_has_no_key();
        service.assert_every_request_has_the_key();
    }
}

/// Also before its time: it may have been signed long before it was polled.
#[tokio::test(start_paused = true)]
async fn has_a_second_life_where_the_service_signs_anew() {
    for (age, status) in
        [(DELIVERY_VALIDITY, 403), (DELIVERY_VALIDITY, 404), (seconds(60), 403), (seconds(0), 401)]
    {
        let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
        let picture = picture(&client(&service), &service, &delivery).await;
        time::advance(age).await;
        delivery.answer(Answer::status(status)).answer(Answer::png(PNG));
        let fresh = samples::ready_body(&delivery.url("/fox.png?signature=fresh"));
        service.answer(Answer::json(200, &fresh));

        assert_eq!(picture.bytes().await.unwrap(), PNG);

        assert_eq!(delivery.received()[1].target, "/fox.png?signature=fresh");
        delivery.assert_no_request_has_the_key();
        service.assert_every_request_has_the_key();
    }
}

#[tokio::test(start_paused = true)]
async fn that_is_refused_before_its_time_is_not_called_expired() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let picture = picture(&client(&service), &service, &delivery).await;
    time::advance(DELIVERY_VALIDITY - seconds(60)).await;
    delivery.answer(Answer::status(403));
    service.answer(ready(&delivery));

    let error = picture.bytes().await.unwrap_err();

    assert_kind(&error, ErrorKind::Delivery);
    assert_eq!(error.status(), Some(403));
    delivery.assert_no_request_has_the_key();
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_says_expired_counts_at_any_age() {
    let azure =
        "Server failed to authenticate. Signature not valid in the specified time frame: EXPIRED";
    for (status, body) in [
        (400, "<Error><Code>ExpiredToken</Code></Error>"),
        (403, "<Error><Message>Request has expired</Message></Error>"),
        (401, "token expired"),
        (403, azure),
        (404, "this link has expired"),
        (410, ""),
    ] {
        let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
        let picture = picture(&client(&service), &service, &delivery).await;
        let body = format!("{body}{DELIVERY_SIGNATURE}");
        delivery.answer(
            Answer::status(status).body(&body).declaring_length(body.len() + 9).then_silence(),
        );
        service.answer(ready(&delivery));

        let error = picture.bytes().await.unwrap_err();

        assert_kind(&error, ErrorKind::Expired);
        assert_eq!((error.status(), error.task()), (Some(status), Some(picture.task())));
        assert!(!format!("{error:?}").contains("Message"), "{error:?}");
        delivery.only_request().assert_has_no_key();
    }
}

#[tokio::test(start_paused = true)]
async fn other_refusals_are_not_called_expired() {
    let late = [&vec![b' '; 64 * 1024][..], b"expired"].concat();
    for (status, body) in
        [(400, b"bad request".as_slice()), (404, &late), (500, b"expired"), (403, b"")]
    {
        let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
        let picture = picture(&client(&service), &service, &delivery).await;
        let body = body.to_vec();
        delivery.otherwise(move |_| Answer::status(status).body(&body));
        let same = samples::ready_body(&samples::delivery_url(&delivery));
        service.otherwise(move |_| Answer::json(200, &same));

        let error = picture.bytes().await.unwrap_err();

        assert_kind(&error, ErrorKind::Delivery);
        assert_eq!(error.status(), Some(status));
    }
}

#[tokio::test(start_paused = true)]
async fn polling_for_a_fresh_address_is_retried() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let picture = picture(&client(&service), &service, &delivery).await;
    delivery.answer(Answer::status(410)).answer(Answer::png(PNG));
    service
        .answer(Answer::html(502))
        .answer(Answer::reset())
        .answer(Answer::json(200, &samples::ready_body(&delivery.url("/fox.png?signature=fresh"))));

    assert_eq!(picture.bytes().await.unwrap(), PNG);

    assert_eq!(delivery.received()[1].target, "/fox.png?signature=fresh");
    service.assert_every_request_has_the_key();
}

#[tokio::test(start_paused = true)]
async fn the_first_error_is_kept_if_there_is_no_fresh_address() {
    for answer in
        [|| Answer::html(502), || Answer::status(403), || samples::status("Task not found")]
    {
        let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
        let picture = picture(&client(&service), &service, &delivery).await;
        delivery.answer(Answer::status(410));
        service.otherwise(move |_| answer());
        let started = Instant::now();

        let error = picture.bytes().await.unwrap_err();

        assert_kind(&error, ErrorKind::Expired);
        assert_eq!(error.status(), Some(410));
        assert!(started.elapsed() <= seconds(31), "{:?}", started.elapsed());
    }
}

/// A service that always signs anew, and whose addresses never work, is not followed for ever.
#[tokio::test(start_paused = true)]
async fn fresh_addresses_that_do_not_work_come_to_an_end() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let picture = picture(&client(&service), &service, &delivery).await;
    delivery.otherwise(|_| Answer::status(410));
    let base = delivery.url("/fox.png?signature=");
    let count = std::sync::atomic::AtomicU32::new(0);
    service.otherwise(move |_| {
        let fresh = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Answer::json(200, &samples::ready_body(&format!("{base}{fresh}")))
    });

    let error = picture.bytes().await.unwrap_err();

    assert_kind(&error, ErrorKind::Expired);
    assert!(delivery.received().len() <= 4, "{}", delivery.received().len());
}

/// The wall clock is asked each time: a machine that slept, or whose clock was set, is not told by
/// an old offset.
#[tokio::test(start_paused = true)]
async fn expiry_follows_the_wall_clock() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let start = SystemTime::UNIX_EPOCH + seconds(1_800_000_000);
    let clock = Arc::new(Mutex::new(start));
    let now = Arc::clone(&clock);
    let client =
        samples::builder(&service).wall_clock(move || *now.lock().unwrap()).build().unwrap();
    let first = picture(&client, &service, &delivery).await;
    assert_eq!(first.expires_at(), start + DELIVERY_VALIDITY);

    // An hour passed while the machine was suspended: tokio's clock did not run.
    *clock.lock().unwrap() += seconds(3600);
    delivery.answer(Answer::status(404));
    service.answer(ready(&delivery));
    assert_kind(&first.bytes().await.unwrap_err(), ErrorKind::Expired);

    // Set back by a day.
    *clock.lock().unwrap() -= seconds(86_400);
    let second = picture(&client, &service, &delivery).await;
    assert_eq!(second.expires_at(), start + seconds(3600) - seconds(86_400) + DELIVERY_VALIDITY);
}
