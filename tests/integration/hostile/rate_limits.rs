//! Status code 429 for a submission: it was not processed, so the client sends it again when the
//! service allows.

use std::time::SystemTime;

use serde_json::json;
use tokio::time::Instant;

use crate::support::{
    reply::Reply,
    samples::{self, assert_billing, assert_kind, client, fox, picture, seconds, served},
    scripted::ScriptedServer,
};
use imagekiln::{Billing, ErrorKind, Picture};

/// Asserts the duration of the wait: at least as long as requested, at most a quarter longer.
#[track_caller]
fn assert_waited(started: Instant, range: std::ops::RangeInclusive<u64>) {
    let waited = started.elapsed();
    assert!(range.contains(&waited.as_secs()), "{waited:?}");
}

fn busy() -> Reply {
    Reply::json(429, &json!({ "detail": "too many active tasks" }))
}

/// Returns the time of the client's clock, derived from the picture of a poll.
fn now_by(picture: &Picture) -> SystemTime {
    picture.ready_since()
}

#[tokio::test(start_paused = true)]
async fn retry_after_as_a_date_is_respected() {
    let (service, client) = served().await;
    let now = now_by(&picture(&client, &service, &service).await);
    let date = httpdate::fmt_http_date(now + seconds(40));
    service.reply(busy().header("Retry-After", &date)).reply(samples::accepted(&service, "t2"));
    let started = Instant::now();

    let _ = client.submit(fox()).await.unwrap();

    // HTTP dates have no fractions of a second.
    assert_waited(started, 39..=45);
    assert_eq!(service.posts().len(), 2);
    service.assert_every_request_has_the_key();
}

/// `Retry-After: 0` is treated like no header, because immediate retries would overload the
/// service.
#[tokio::test(start_paused = true)]
async fn delays_without_retry_after_grow() {
    for busy in [busy, || busy().header("Retry-After", "0")] {
        let service = ScriptedServer::start().await;
        service.reply(busy()).reply(busy()).reply(busy()).reply(samples::accepted(&service, "t1"));

        let _ = client(&service).submit(fox()).await.unwrap();

        let posts = service.posts();
        let delays: Vec<_> =
            posts.windows(2).map(|pair| (pair[1].at - pair[0].at).as_millis()).collect();
        assert!((250..=501).contains(&delays[0]), "{delays:?}");
        assert!((500..=1001).contains(&delays[1]), "{delays:?}");
        assert!((1000..=2001).contains(&delays[2]), "{delays:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn endless_rate_limits_are_an_error_with_retry_after() {
    let service = ScriptedServer::start().await;
    service.otherwise(|_| busy().header("Retry-After", "5").header("X-Request-Id", "r-1"));
    let started = Instant::now();

    let error = client(&service).submit(fox()).await.unwrap_err();

    assert_kind(&error, ErrorKind::RateLimited);
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert_ne!(error.billing(), Billing::Unknown);
    assert_eq!(error.retry_after(), Some(seconds(5)));
    assert_eq!((error.status(), error.request_id()), (Some(429), Some("r-1")));
    assert!(error.to_string().contains("too many active tasks"), "{error}");
    assert_eq!(service.posts().len(), 6);
    assert_waited(started, 25..=32);
    service.assert_every_request_has_the_key();
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_above_the_limit_is_returned_to_the_caller() {
    for (value, requested) in [("86400", 86_400), ("18446744073709551615", u64::MAX)] {
        let service = ScriptedServer::start().await;
        service.reply(busy().header("Retry-After", value));
        let started = Instant::now();

        let error = client(&service).submit(fox()).await.unwrap_err();

        assert_kind(&error, ErrorKind::RateLimited);
        assert_eq!(error.retry_after(), Some(seconds(requested)));
        assert_ne!(error.billing(), Billing::Unknown);
        assert_eq!(started.elapsed(), seconds(0));
        service.only_request().assert_has_key();
    }
}

/// The first response means that nothing was processed; the broken connection is ambiguous.
#[tokio::test(start_paused = true)]
async fn a_broken_connection_after_a_429_is_unknown() {
    let service = ScriptedServer::start().await;
    service.reply(busy().header("Retry-After", "1")).reply(Reply::close());

    let error = client(&service).submit(fox()).await.unwrap_err();

    assert_billing(&error, ErrorKind::Network, Billing::Unknown);
    assert_eq!(service.posts().len(), 2);
}
