//! The deadline of a wait: it always applies, and the task can be resumed afterwards.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::support::{
    reply::Reply,
    samples::{self, assert_kind, client, deadline, fox, ready, seconds, task},
    scripted::ScriptedServer,
};
use imagekiln::{Error, ErrorKind, TaskRef, TaskStatus, WaitEnd, WaitOptions};

fn end_of(error: &Error) -> (Duration, u32, Option<TaskStatus>) {
    match error.wait_end() {
        Some(WaitEnd::DeadlineExceeded { elapsed, polls, last_status, .. }) => {
            (*elapsed, *polls, last_status.clone())
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn the_deadline_ends_a_wait_and_the_task_can_be_resumed() {
    let service = ScriptedServer::start().await;
    service.reply(samples::accepted(&service, "t1")).otherwise(|_| samples::status("Nearly there"));
    let started = Instant::now();
    let submitted = client(&service).submit(fox()).await.unwrap();

    let error = submitted.wait_with(deadline(30)).await.unwrap_err();

    assert_kind(&error, ErrorKind::Deadline);
    let (elapsed, polls, last_status) = end_of(&error);
    assert_eq!(elapsed, started.elapsed());
    assert!(elapsed > seconds(25) && elapsed <= seconds(30), "{elapsed:?}");
    assert_eq!(polls as usize, service.polls().len());
    assert_eq!(last_status, Some(TaskStatus::InProgress("Nearly there".to_owned())));

    // Simulates another process, which has only the reference.
    let kept = serde_json::to_string(error.task().unwrap()).unwrap();
    let reference: TaskRef = serde_json::from_str(&kept).unwrap();
    assert_eq!(&reference, submitted.reference());
    service.reply(ready(&service));
    let _ = client(&service).task(reference).wait().await.unwrap();

    assert_eq!(service.posts().len(), 1);
    service.assert_every_request_has_the_key();
}

#[tokio::test(start_paused = true)]
async fn a_poll_without_a_response_ends_at_the_deadline() {
    let service = ScriptedServer::start().await;
    service.reply(Reply::silence());
    let started = Instant::now();

    let error = task(&client(&service), &service).wait_with(deadline(7)).await.unwrap_err();

    assert_kind(&error, ErrorKind::Deadline);
    assert_eq!(started.elapsed().as_secs(), 7);
    let (elapsed, polls, last_status) = end_of(&error);
    assert_eq!((elapsed.as_secs(), polls, last_status), (7, 1, None));
    assert!(std::error::Error::source(&error).is_some(), "the last failure is the cause");
    service.only_request().assert_has_key();
}

/// A poll that the deadline ended says nothing about the service.
#[tokio::test(start_paused = true)]
async fn the_last_poll_is_no_cause_if_an_earlier_one_succeeded() {
    let service = ScriptedServer::start().await;
    service.reply(samples::status("Nearly there")).otherwise(|_| Reply::silence());

    let error = task(&client(&service), &service).wait_with(deadline(7)).await.unwrap_err();

    assert_kind(&error, ErrorKind::Deadline);
    assert!(end_of(&error).2.is_some());
    assert!(std::error::Error::source(&error).is_none(), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_slow_poll_response_ends_at_the_deadline() {
    let service = ScriptedServer::start().await;
    let (reply, pieces) = Reply::status(200).declaring_length(1000).in_pieces();
    service.reply(reply);
    let started = Instant::now();
    let client = client(&service);
    let task = task(&client, &service);
    let trickle = async {
        loop {
            tokio::time::sleep(seconds(1)).await;
            pieces.send(" ");
        }
    };

    let error = tokio::select! {
        outcome = task.wait_with(deadline(7)) => outcome.unwrap_err(),
        () = trickle => unreachable!("the response never ends"),
    };

    assert_kind(&error, ErrorKind::Deadline);
    assert_eq!(started.elapsed().as_secs(), 7);
}

/// A silent poll uses only a part of the deadline, which leaves time for another one.
#[tokio::test(start_paused = true)]
async fn a_hung_poll_leaves_time_for_another_one() {
    let service = ScriptedServer::start().await;
    service.reply(Reply::silence()).reply(ready(&service));

    let _ = task(&client(&service), &service).wait_with(deadline(60)).await.unwrap();

    let polls = service.polls();
    assert_eq!((polls[1].at - polls[0].at).as_secs(), 30);
}

/// Waiting for a poll permit is part of the wait.
#[tokio::test(start_paused = true)]
async fn the_deadline_applies_while_other_polls_hold_all_permits() {
    let service = ScriptedServer::start().await;
    service.reply(Reply::silence());
    let client = samples::builder(&service).max_concurrent_polls(1).build().unwrap();
    let silent = task(&client, &service);
    let occupied = tokio::spawn(async move { silent.wait_with(deadline(20)).await });
    service.wait_for_requests(1).await;
    let started = Instant::now();

    let error = task(&client, &service).wait_with(deadline(1)).await.unwrap_err();

    assert_kind(&error, ErrorKind::Deadline);
    assert_eq!(started.elapsed().as_secs(), 1);
    assert_kind(&occupied.await.unwrap().unwrap_err(), ErrorKind::Deadline);
    service.only_request();
}

/// Ending the wait immediately would lose a task that is ready a moment later.
#[tokio::test(start_paused = true)]
async fn a_longer_retry_after_uses_the_whole_deadline() {
    for (requested, until_last) in [("3600", 59), ("61", 59), ("18446744073709551615", 59)] {
        let service = ScriptedServer::start().await;
        let busy = || Reply::json(429, &json!({}));
        service.reply(busy().header("Retry-After", requested)).reply(busy());
        let started = Instant::now();

        let error = task(&client(&service), &service).wait_with(deadline(60)).await.unwrap_err();

        assert_kind(&error, ErrorKind::Deadline);
        let polls = service.polls();
        assert_eq!((polls[1].at - polls[0].at).as_secs(), until_last, "{requested}");
        assert_eq!(end_of(&error).0, started.elapsed());
        assert!(error.to_string().contains("after 59.0 s (deadline 60 s, polls: 2"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_poll_before_the_deadline_can_return_the_picture() {
    let service = ScriptedServer::start().await;
    service.reply(Reply::json(503, &json!({})).header("Retry-After", "600")).reply(ready(&service));

    let picture = task(&client(&service), &service).wait_with(deadline(30)).await.unwrap();

    assert_eq!(picture.address().reveal(), samples::delivery_url(&service));
    let polls = service.polls();
    assert_eq!((polls[1].at - polls[0].at).as_secs(), 29);
}

/// The client polls again after two minutes, even if the service asks for more.
#[tokio::test(start_paused = true)]
async fn a_retry_after_of_hours_is_limited() {
    let service = ScriptedServer::start().await;
    service
        .reply(Reply::json(429, &json!({})).header("Retry-After", "86400"))
        .reply(ready(&service));

    let _ = task(&client(&service), &service).wait_with(deadline(3600)).await.unwrap();

    let polls = service.polls();
    let pause = (polls[1].at - polls[0].at).as_secs();
    assert!((120..=125).contains(&pause), "{pause}");
}

#[tokio::test(start_paused = true)]
async fn the_default_deadline_is_ten_minutes() {
    let service = ScriptedServer::start().await;
    service.otherwise(|_| Reply::html(503));
    let started = Instant::now();

    let error = task(&client(&service), &service).wait().await.unwrap_err();

    assert_kind(&error, ErrorKind::Deadline);
    let waited = started.elapsed();
    assert!(waited > seconds(590) && waited <= seconds(600), "{waited:?}");
    assert_eq!(end_of(&error).1 as usize, service.polls().len());
}

#[tokio::test(start_paused = true)]
async fn a_zero_interval_does_not_busy_wait() {
    let zero = |limit: u64| deadline(limit).interval(Duration::ZERO);
    // The first one grows.
    for (options, expected) in [(zero(60), 20..60), (zero(1).max_interval(Duration::ZERO), 1..101)]
    {
        let service = ScriptedServer::start().await;
        service.otherwise(|_| samples::status("Pending"));

        let error = task(&client(&service), &service).wait_with(options).await.unwrap_err();

        let (_, polls, _) = end_of(&error);
        assert!(expected.contains(&polls), "{polls} polls, not {expected:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_huge_interval_does_not_overflow() {
    let service = ScriptedServer::start().await;
    service
        .reply(samples::status("Pending"))
        .reply(samples::status("Pending"))
        .reply(ready(&service));

    let longest = Duration::MAX;
    let options = WaitOptions::default().deadline(longest).interval(longest).max_interval(longest);
    let _ = task(&client(&service), &service).wait_with(options).await.unwrap();

    assert_eq!(service.polls().len(), 3);
}
