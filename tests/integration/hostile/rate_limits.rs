//! 429 on the POST: not taken, so it is sent again, when the service says.

use std::time::SystemTime;

use imagekiln::{ErrorKind, Picture};
use serde_json::json;
use tokio::time::Instant;

use crate::support::{
    answer::Answer,
    samples::{self, assert_kind, client, fox, picture, seconds},
    scripted::ScriptedServer,
};

/// No less than the service asked for, and up to a quarter more.
#[track_caller]
fn assert_waited(started: Instant, range: std::ops::RangeInclusive<u64>) {
    let waited = started.elapsed();
    assert!(range.contains(&waited.as_secs()), "{waited:?}");
}

fn busy() -> Answer {
    Answer::json(429, &json!({ "detail": "too many active tasks" }))
}

/// The time on the client's clock, told by the picture of a poll that was just sent.
fn now_by(picture: &Picture) -> SystemTime {
    picture.expires_at() - imagekiln::DELIVERY_VALIDITY
}

#[tokio::test(start_paused = true)]
async fn retry_after_in_seconds_is_waited_out() {
    let service = ScriptedServer::start().await;
    service.answer(busy().header("Retry-After", "17")).answer(samples::accepted(&service, "t1"));
    let started = Instant::now();

    let task = client(&service).submit(fox()).await.unwrap();

    assert_eq!(task.id(), "t1");
    assert_waited(started, 17..=22);
    let posts = service.posts();
    assert_eq!(posts.len(), 2);
    assert_eq!(posts[0].body, posts[1].body);
    service.assert_every_request_has_the_key();
}

#[tokio::test(start_paused = true)]
async fn retry_after_as_a_date_is_waited_out() {
    let service = ScriptedServer::start().await;
    let client = client(&service);
    let now = now_by(&picture(&client, &service, &service).await);
    let date = httpdate::fmt_http_date(now + seconds(40));
    service.answer(busy().header("Retry-After", &date)).answer(samples::accepted(&service, "t2"));
    let started = Instant::now();

    let _ = client.submit(fox()).await.unwrap();

    // Such a date has no fractions of a second.
    assert_waited(started, 39..=45);
    assert_eq!(service.posts().len(), 2);
    service.assert_every_request_has_the_key();
}

/// Also where the word is 0: six attempts at once would be a storm.
#[tokio::test(start_paused = true)]
async fn without_a_word_the_delays_grow() {
    for busy in [busy, || busy().header("Retry-After", "0")] {
        let service = ScriptedServer::start().await;
        service
            .answer(busy())
            .answer(busy())
            .answer(busy())
            .answer(samples::accepted(&service, "t1"));

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
async fn a_retry_after_that_nobody_can_read_is_none() {
    for value in ["soon", "-3", "1e3", "", "99999999999999999999999"] {
        let service = ScriptedServer::start().await;
        service
            .answer(busy().header("Retry-After", value))
            .answer(samples::accepted(&service, "t1"));
        let started = Instant::now();

        let _ = client(&service).submit(fox()).await.unwrap();

        assert!(started.elapsed() <= seconds(1), "{value}: {:?}", started.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn for_ever_is_an_error_that_says_when_to_come_back() {
    let service = ScriptedServer::start().await;
    service.otherwise(|_| busy().header("Retry-After", "5").header("X-Request-Id", "r-1"));
    let started = Instant::now();

    let error = client(&service).submit(fox()).await.unwrap_err();

    assert_kind(&error, ErrorKind::RateLimited);
    assert!(error.is_rate_limited() && !error.may_have_been_billed());
    assert_eq!(error.retry_after(), Some(seconds(5)));
    assert_eq!((error.status(), error.request_id()), (Some(429), Some("r-1")));
    assert!(error.to_string().contains("too many active tasks"), "{error}");
    assert_eq!(service.posts().len(), 6);
    assert_waited(started, 25..=32);
    service.assert_every_request_has_the_key();
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_too_long_is_for_the_caller_to_decide() {
    for (value, asked) in [("86400", 86_400), ("18446744073709551615", u64::MAX)] {
        let service = ScriptedServer::start().await;
        service.answer(busy().header("Retry-After", value));
        let started = Instant::now();

        let error = client(&service).submit(fox()).await.unwrap_err();

        assert_kind(&error, ErrorKind::RateLimited);
        assert_eq!(error.retry_after(), Some(seconds(asked)));
        assert!(!error.may_have_been_billed());
        assert_eq!(started.elapsed(), seconds(0));
        service.only_request().assert_has_key();
    }
}

/// The first answer says that nothing was taken; the second that nobody knows.
#[tokio::test(start_paused = true)]
async fn a_break_after_a_429_is_unknown_all_the_same() {
    let service = ScriptedServer::start().await;
    service.answer(busy().header("Retry-After", "1")).answer(Answer::close());

    let error = client(&service).submit(fox()).await.unwrap_err();

    assert_kind(&error, ErrorKind::Network);
    assert!(error.may_have_been_billed());
    assert_eq!(service.posts().len(), 2);
}
