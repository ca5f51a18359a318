//! Expired delivery URLs, and the new ones that another poll may return.

use std::{
    sync::{Arc, Mutex},
    time::SystemTime,
};

use futures_util::TryStreamExt;
use tokio::time::{self, Instant};

use crate::{
    operations::simulator,
    support::{
        reply::Reply,
        samples::{self, DELIVERY_SIGNATURE, PNG, assert_kind, fox, ready_picture, seconds},
        scripted::ScriptedServer,
    },
};
use imagekiln::{Client, DELIVERY_VALIDITY, ErrorKind, Picture, RetryPolicy, Update};
use imagekiln_simulator::Simulator;

/// Refusals of a delivery host: those that say that the URL has expired, and others.
const REFUSALS: [(u16, &str); 9] = [
    (400, "<Error><Code>ExpiredToken</Code></Error>"),
    (401, ""),
    (401, "token expired"),
    (403, ""),
    (403, "<Error><Message>Request has expired</Message></Error>"),
    (403, "Signature not valid in the specified time frame: EXPIRED"),
    (404, ""),
    (404, "this link has expired"),
    (410, ""),
];

/// A refusal whose body never ends.
fn refusal((status, body): (u16, &str)) -> Reply {
    let body = format!("{body}{DELIVERY_SIGNATURE}");
    Reply::status(status).body(&body).declaring_length(body.len() + 9).then_silence()
}

/// Makes the service return the same delivery URL for each poll.
fn always_ready(service: &ScriptedServer, delivery: &ScriptedServer) {
    let body = samples::ready_body(&samples::delivery_url(delivery));
    service.otherwise(move |_| Reply::json(200, &body));
}

/// A client of the simulator whose wall clock follows tokio's clock, like the simulator's.
fn client_of(simulator: &Simulator) -> Client {
    let started = Instant::now();
    let builder = Client::builder().api_key(simulator.api_key()).base_url(simulator.base_url());
    let now = move || SystemTime::UNIX_EPOCH + seconds(1_800_000_000) + started.elapsed();
    builder.wall_clock(now).build().unwrap()
}

/// A picture whose delivery URL the simulator refuses `often`, although it is valid.
async fn refused_by_simulator(simulator: &Simulator, often: &str) -> Picture {
    simulator.faults().add(&format!("early-expiry:{often}")).unwrap();
    client_of(simulator).submit(fox()).await.unwrap().wait().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_delivery_url_expires_after_ten_minutes() {
    for refused in REFUSALS {
        let (service, delivery, picture) = ready_picture().await;
        time::advance(DELIVERY_VALIDITY).await;
        delivery.otherwise(move |_| refusal(refused));
        // The service has no new URL.
        always_ready(&service, &delivery);

        let error = picture.bytes().await.unwrap_err();

        assert_kind(&error, ErrorKind::Expired);
        assert_eq!((error.status(), error.task()), (Some(refused.0), Some(picture.task())));
        assert!(!error.is_transient() && !format!("{error:?}").contains("Message"), "{error:?}");
        assert_eq!(delivery.received().len(), 4);
        delivery.assert_no_request_has_the_key();
        service.assert_every_request_has_the_key();
    }
}

#[tokio::test(start_paused = true)]
async fn one_refusal_is_not_an_expiry() {
    for refused in REFUSALS {
        let (service, delivery, picture) = ready_picture().await;
        delivery.reply(refusal(refused)).reply(Reply::png(PNG));
        always_ready(&service, &delivery);

        assert_eq!(picture.bytes().await.unwrap(), PNG, "{refused:?}");

        assert_eq!(delivery.received().len(), 2);
        delivery.assert_no_request_has_the_key();
    }
    let simulator = simulator().await;
    let picture = refused_by_simulator(&simulator, "once").await;
    assert!(!picture.bytes().await.unwrap().is_empty());
}

/// Also before it expires: the URL may have been signed long before the poll.
#[tokio::test(start_paused = true)]
async fn an_expired_url_is_replaced_if_the_service_signs_a_new_one() {
    for (age, status) in
        [(DELIVERY_VALIDITY, 403), (DELIVERY_VALIDITY, 404), (seconds(60), 403), (seconds(0), 401)]
    {
        let (service, delivery, picture) = ready_picture().await;
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

/// However long the delivery host refuses the URL.
#[tokio::test(start_paused = true)]
async fn refusals_during_the_validity_are_not_an_expiry() {
    for refused in REFUSALS {
        let (service, delivery, picture) = ready_picture().await;
        delivery.otherwise(move |_| refusal(refused));
        always_ready(&service, &delivery);
        for age in [seconds(0), DELIVERY_VALIDITY - seconds(120)] {
            time::advance(age).await;

            let error = picture.bytes().await.unwrap_err();

            assert_kind(&error, ErrorKind::Download);
            assert!(error.is_transient());
            assert_eq!((error.status(), error.task()), (Some(refused.0), Some(picture.task())));
            let text = error.to_string();
            let validity = "although it should be valid until Fri, 15 Jan 2027 08:10:00 GMT";
            assert!(text.contains(validity) && text.contains("billed and ready"), "{text}");
        }
        time::advance(seconds(120)).await;
        assert_kind(&picture.bytes().await.unwrap_err(), ErrorKind::Expired);
    }
}

#[tokio::test(start_paused = true)]
async fn the_host_may_refuse_a_url_for_the_whole_validity() {
    let simulator = simulator().await;
    let picture = refused_by_simulator(&simulator, "always").await;
    let ready = Instant::now();
    while ready.elapsed() < DELIVERY_VALIDITY - seconds(60) {
        assert_kind(&picture.bytes().await.unwrap_err(), ErrorKind::Download);
        time::advance(seconds(50)).await;
    }
    time::advance(seconds(60)).await;
    assert_kind(&picture.bytes().await.unwrap_err(), ErrorKind::Expired);
}

/// A program may have seen that the task was ready in an earlier process. Its clock proves nothing.
#[tokio::test(start_paused = true)]
async fn the_validity_counts_from_the_first_ready() {
    let almost = DELIVERY_VALIDITY - seconds(60);
    for first in [DELIVERY_VALIDITY, almost] {
        let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
        let once = RetryPolicy::default().attempts(1);
        let client = samples::builder(&service).retry(once).build().unwrap();
        always_ready(&service, &delivery);
        delivery.otherwise(|_| Reply::status(403));
        let task = samples::task(&client, &service);
        let now = task.wait().await.unwrap().ready_since();
        let task = task.ready_since(now - first);

        let polled = task.poll().await.unwrap();
        let update = task.updates(samples::deadline(9)).try_next().await.unwrap().unwrap();
        let of = |update: Update| update.picture().unwrap().clone();
        for picture in [task.wait().await.unwrap(), of(polled), of(update)] {
            assert_eq!(picture.ready_since(), now - first);
            assert_eq!(picture.expires_at(), now - first + DELIVERY_VALIDITY);
            assert_kind(&picture.bytes().await.unwrap_err(), ErrorKind::Download);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn other_refusals_are_not_an_expiry() {
    let late = [&vec![b' '; 64 * 1024][..], b"expired"].concat();
    for (status, body) in
        [(400, b"bad request".as_slice()), (404, &late), (500, b"expired"), (403, b"")]
    {
        let (service, delivery, picture) = ready_picture().await;
        let body = body.to_vec();
        delivery.otherwise(move |_| Reply::status(status).body(&body));
        always_ready(&service, &delivery);

        let error = picture.bytes().await.unwrap_err();

        assert_kind(&error, ErrorKind::Download);
        assert_eq!(error.status(), Some(status));
    }
}

#[tokio::test(start_paused = true)]
async fn polling_for_a_new_url_is_retried() {
    let (service, delivery, picture) = ready_picture().await;
    delivery.reply(Reply::status(410)).reply(Reply::png(PNG));
    service
        .reply(Reply::html(502))
        .reply(Reply::reset())
        .reply(Reply::json(200, &samples::ready_body(&delivery.url("/fox.png?signature=new"))));

    assert_eq!(picture.bytes().await.unwrap(), PNG);

    assert_eq!(delivery.received()[1].target, "/fox.png?signature=new");
    service.assert_every_request_has_the_key();
}

/// A poll that fails says nothing about the picture, nor does one that contradicts the first.
#[tokio::test(start_paused = true)]
async fn failed_polls_are_not_an_expiry() {
    for reply in [|| Reply::html(502), || Reply::status(403), || samples::status("Task not found")]
    {
        let (service, delivery, picture) = ready_picture().await;
        time::advance(DELIVERY_VALIDITY).await;
        delivery.otherwise(|_| Reply::status(410));
        service.otherwise(move |_| reply());
        let started = Instant::now();

        let error = picture.bytes().await.unwrap_err();

        assert_kind(&error, ErrorKind::Download);
        assert_eq!(error.status(), Some(410));
        assert!(error.message().contains("it was valid until Fri, 15 Jan 2027 08:10:00 GMT"));
        assert!(started.elapsed() <= seconds(95), "{:?}", started.elapsed());

        // The URL of the first poll is tried again.
        delivery.reply(Reply::status(410)).reply(Reply::png(PNG));
        assert_eq!(picture.bytes().await.unwrap(), PNG);
    }
}

/// A service that always signs new URLs that do not work is not polled forever.
#[tokio::test(start_paused = true)]
async fn the_number_of_new_urls_is_bounded() {
    let (service, delivery, picture) = ready_picture().await;
    delivery.otherwise(|_| Reply::status(410));
    let base = delivery.url("/fox.png?signature=");
    let count = std::sync::atomic::AtomicU32::new(0);
    service.otherwise(move |_| {
        let number = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Reply::json(200, &samples::ready_body(&format!("{base}{number}")))
    });

    let error = picture.bytes().await.unwrap_err();

    assert_kind(&error, ErrorKind::Download);
    assert!(delivery.received().len() <= 4, "{}", delivery.received().len());
}

/// The clock of the machine is shown, and proves nothing: people and programs set it. That of the
/// service does, also after the machine was suspended.
#[tokio::test(start_paused = true)]
async fn only_the_clock_of_the_service_proves_an_expiry() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let start = SystemTime::UNIX_EPOCH + seconds(1_800_000_000);
    let clock = Arc::new(Mutex::new(start));
    let now = Arc::clone(&clock);
    let client =
        samples::builder(&service).wall_clock(move || *now.lock().unwrap()).build().unwrap();
    let body = samples::ready_body(&samples::delivery_url(&delivery));
    let ready_at = |time: &str| {
        let (body, date) = (body.clone(), format!("Sat, 28 Nov 2026 {time} GMT"));
        service.otherwise(move |_| Reply::json(200, &body).header("Date", &date));
    };
    ready_at("10:00:00");
    let task = samples::task(&client, &service);
    let picture = task.wait().await.unwrap();
    assert_eq!(picture.expires_at(), start + DELIVERY_VALIDITY);

    delivery.otherwise(|_| Reply::status(404));
    for jump in [seconds(3600), seconds(31_536_000)] {
        *clock.lock().unwrap() += jump;
        assert_kind(&picture.bytes().await.unwrap_err(), ErrorKind::Download);
    }
    ready_at("10:09:59");
    assert_kind(&picture.bytes().await.unwrap_err(), ErrorKind::Download);
    ready_at("10:10:00");
    *clock.lock().unwrap() -= seconds(86_400_000);
    assert_kind(&picture.bytes().await.unwrap_err(), ErrorKind::Expired);
    let expected = start + seconds(3600 + 31_536_000) - seconds(86_400_000) + DELIVERY_VALIDITY;
    assert_eq!(task.wait().await.unwrap().expires_at(), expected);
}
