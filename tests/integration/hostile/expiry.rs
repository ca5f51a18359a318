//! Expired delivery URLs, and the new ones that another poll may return.

use std::{
    sync::{Arc, Mutex},
    time::SystemTime,
};

use tokio::time::{self, Instant};

use crate::support::{
    reply::Reply,
    samples::{self, DELIVERY_SIGNATURE, PNG, assert_kind, client, picture, ready, seconds},
    scripted::ScriptedServer,
};
use imagekiln::{DELIVERY_VALIDITY, ErrorKind};

#[tokio::test(start_paused = true)]
async fn a_delivery_url_expires_after_ten_minutes() {
    for status in [401, 403, 404, 410] {
        let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
        let picture = picture(&client(&service), &service, &delivery).await;
        time::advance(DELIVERY_VALIDITY).await;
        delivery.reply(Reply::status(status));
        // The service has no new URL.
        service.reply(ready(&delivery));

        let error = picture.bytes().await.unwrap_err();

        assert_kind(&error, ErrorKind::Expired);
        assert_eq!((error.status(), error.task()), (Some(status), Some(picture.task())));
        delivery.only_request().assert_has_no_key();
        service.assert_every_request_has_the_key();
    }
}

/// Also before it expires: the URL may have been signed long before the poll.
#[tokio::test(start_paused = true)]
async fn an_expired_url_is_replaced_if_the_service_signs_a_new_one() {
    for (age, status) in
        [(DELIVERY_VALIDITY, 403), (DELIVERY_VALIDITY, 404), (seconds(60), 403), (seconds(0), 401)]
    {
        let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
        let picture = picture(&client(&service), &service, &delivery).await;
        time::advance(age).await;
        delivery.reply(Reply::status(status)).reply(Reply::png(PNG));
        let new = samples::ready_body(&delivery.url("/fox.png?signature=new"));
        service.reply(Reply::json(200, &new));

        assert_eq!(picture.bytes().await.unwrap(), PNG);

        assert_eq!(delivery.received()[1].target, "/fox.png?signature=new");
        delivery.assert_no_request_has_the_key();
        service.assert_every_request_has_the_key();
    }
}

#[tokio::test(start_paused = true)]
async fn an_early_refusal_is_not_an_expiry() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let picture = picture(&client(&service), &service, &delivery).await;
    time::advance(DELIVERY_VALIDITY - seconds(60)).await;
    delivery.reply(Reply::status(403));
    service.reply(ready(&delivery));

    let error = picture.bytes().await.unwrap_err();

    assert_kind(&error, ErrorKind::Delivery);
    assert_eq!(error.status(), Some(403));
    delivery.assert_no_request_has_the_key();
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_mentions_expiry_is_an_expiry() {
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
        delivery.reply(
            Reply::status(status).body(&body).declaring_length(body.len() + 9).then_silence(),
        );
        service.reply(ready(&delivery));

        let error = picture.bytes().await.unwrap_err();

        assert_kind(&error, ErrorKind::Expired);
        assert_eq!((error.status(), error.task()), (Some(status), Some(picture.task())));
        assert!(!format!("{error:?}").contains("Message"), "{error:?}");
        delivery.only_request().assert_has_no_key();
    }
}

#[tokio::test(start_paused = true)]
async fn other_refusals_are_not_an_expiry() {
    let late = [&vec![b' '; 64 * 1024][..], b"expired"].concat();
    for (status, body) in
        [(400, b"bad request".as_slice()), (404, &late), (500, b"expired"), (403, b"")]
    {
        let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
        let picture = picture(&client(&service), &service, &delivery).await;
        let body = body.to_vec();
        delivery.otherwise(move |_| Reply::status(status).body(&body));
        let same = samples::ready_body(&samples::delivery_url(&delivery));
        service.otherwise(move |_| Reply::json(200, &same));

        let error = picture.bytes().await.unwrap_err();

        assert_kind(&error, ErrorKind::Delivery);
        assert_eq!(error.status(), Some(status));
    }
}

#[tokio::test(start_paused = true)]
async fn polling_for_a_new_url_is_retried() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let picture = picture(&client(&service), &service, &delivery).await;
    delivery.reply(Reply::status(410)).reply(Reply::png(PNG));
    service
        .reply(Reply::html(502))
        .reply(Reply::reset())
        .reply(Reply::json(200, &samples::ready_body(&delivery.url("/fox.png?signature=new"))));

    assert_eq!(picture.bytes().await.unwrap(), PNG);

    assert_eq!(delivery.received()[1].target, "/fox.png?signature=new");
    service.assert_every_request_has_the_key();
}

#[tokio::test(start_paused = true)]
async fn the_first_error_is_returned_if_there_is_no_new_url() {
    for reply in [|| Reply::html(502), || Reply::status(403), || samples::status("Task not found")]
    {
        let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
        let picture = picture(&client(&service), &service, &delivery).await;
        delivery.reply(Reply::status(410));
        service.otherwise(move |_| reply());
        let started = Instant::now();

        let error = picture.bytes().await.unwrap_err();

        assert_kind(&error, ErrorKind::Expired);
        assert_eq!(error.status(), Some(410));
        assert!(started.elapsed() <= seconds(31), "{:?}", started.elapsed());
    }
}

/// A service that always signs new URLs that do not work is not polled forever.
#[tokio::test(start_paused = true)]
async fn the_number_of_new_urls_is_bounded() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let picture = picture(&client(&service), &service, &delivery).await;
    delivery.otherwise(|_| Reply::status(410));
    let base = delivery.url("/fox.png?signature=");
    let count = std::sync::atomic::AtomicU32::new(0);
    service.otherwise(move |_| {
        let number = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Reply::json(200, &samples::ready_body(&format!("{base}{number}")))
    });

    let error = picture.bytes().await.unwrap_err();

    assert_kind(&error, ErrorKind::Expired);
    assert!(delivery.received().len() <= 4, "{}", delivery.received().len());
}

/// The wall clock is read every time, so that suspending the machine or setting its clock has no
/// lasting effect.
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

    // An hour passed while the machine was suspended; tokio's clock did not advance.
    *clock.lock().unwrap() += seconds(3600);
    delivery.reply(Reply::status(404));
    service.reply(ready(&delivery));
    assert_kind(&first.bytes().await.unwrap_err(), ErrorKind::Expired);

    // The clock was set back by a day.
    *clock.lock().unwrap() -= seconds(86_400);
    let second = picture(&client, &service, &delivery).await;
    assert_eq!(second.expires_at(), start + seconds(3600) - seconds(86_400) + DELIVERY_VALIDITY);
}
