//! The deadline of a wait: it holds whatever the service does, and the task is not lost with it.

use std::time::Duration;

use imagekiln::{Error, ErrorKind, TaskRef, TaskStatus, WaitEnd, WaitOptions};
use serde_json::json;
use tokio::time::Instant;

use crate::support::{
    answer::Answer,
    samples::{self, assert_kind, client, deadline, fox, ready, seconds, task},
    scripted::ScriptedServer,
};

fn end_of(error: &Error) -> (Duration, u32, Option<TaskStatus>) {
    match error.wait_end() {
        Some(WaitEnd::DeadlineExceeded { elapsed, polls, last_status, .. }) => {
            (*elapsed, *polls, last_status.clone())
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn ends_a_wait_and_the_task_is_taken_up_again() {
    let service = ScriptedServer::start().await;
    service
        .answer(samples::accepted(&service, "t1"))
        .otherwise(|_| samples::status("Nearly there"));
    let started = Instant::now();
    let submitted = client(&service).submit(fox()).await.unwrap();

    let error = submitted.wait_with(deadline(30)).await.unwrap_err();

    assert_kind(&error, ErrorKind::Deadline);
    let (elapsed, polls, last_status) = end_of(&error);
    assert_eq!(elapsed, started.elapsed());
    assert!(elapsed > seconds(25) && elapsed <= seconds(30), "{elapsed:?}");
    assert_eq!(polls as usize, service.polls().len());
    assert_eq!(last_status, Some(TaskStatus::InProgress("Nearly there".to_owned())));

    // In another process, as it were: only the reference is left.
    let kept = serde_json::to_string(error.task().unwrap()).unwrap();
    let reference: TaskRef = serde_json::from_str(&kept).unwrap();
    assert_eq!(&reference, submitted.reference());
    service.answer(ready(&service));
    let _ = client(&service).task(reference).wait().await.unwrap();

    assert_eq!(service.posts().len(), 1);
    service.assert_every_request_has_the_key();
}

#[tokio::test(start_paused = true)]
async fn is_not_outlived_by_a_poll_that_is_never_answered() {
    let service = ScriptedServer::start().await;
    service.answer(Answer::silence());
    let started = Instant::now();

    let error = task(&client(&service), &service).wait_with(deadline(7)).await.unwrap_err();

    assert_kind(&error, ErrorKind::Deadline);
    assert_eq!(started.elapsed().as_secs(), 7);
    let (elapsed, polls, last_status) = end_of(&error);
    assert_eq!((elapsed.as_secs(), polls, last_status), (7, 1, None));
    assert!(std::error::Error::source(&error).is_some(), "the last failure is the cause");
    service.only_request().assert_has_key();
}

#[tokio::test(start_paused = true)]
async fn is_not_outlived_by_an_answer_that_trickles_in() {
    let service = ScriptedServer::start().await;
    let (answer, pieces) = Answer::status(200).declaring_length(1000).in_pieces();
    service.answer(answer);
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
        () = trickle => unreachable!("it trickles for ever"),
    };

    assert_kind(&error, ErrorKind::Deadline);
    assert_eq!(started.elapsed().as_secs(), 7);
}

/// A silent poll takes its share of the deadline and no more: another one gets through.
#[tokio::test(start_paused = true)]
async fn leaves_time_for_another_poll_after_one_that_is_never_answered() {
    let service = ScriptedServer::start().await;
    service.answer(Answer::silence()).answer(ready(&service));

    let _ = task(&client(&service), &service).wait_with(deadline(60)).await.unwrap();

    let polls = service.polls();
    assert_eq!((polls[1].at - polls[0].at).as_secs(), 30);
}

/// The turns that polls of one client take are part of the wait.
#[tokio::test(start_paused = true)]
async fn holds_while_other_polls_take_all_the_turns() {
    let service = ScriptedServer::start().await;
    service.answer(Answer::silence());
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

/// A wait that ended at once would give up a task that is ready a moment later.
#[tokio::test(start_paused = true)]
async fn is_used_up_if_the_service_asks_to_wait_longer() {
    for (asked, until_last) in [("3600", 59), ("61", 59), ("18446744073709551615", 59)] {
        let service = ScriptedServer::start().await;
        let busy = || Answer::json(429, &json!({}));
        service.answer(busy().header("Retry-After", asked)).answer(busy());
        let started = Instant::now();

        let error = task(&client(&service), &service).wait_with(deadline(60)).await.unwrap_err();

        assert_kind(&error, ErrorKind::Deadline);
        let polls = service.polls();
        assert_eq!((polls[1].at - polls[0].at).as_secs(), until_last, "{asked}");
        assert_eq!(end_of(&error).0, started.elapsed());
        assert!(error.to_string().contains("after 59.0 s (deadline 60 s, polls: 2"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn ends_with_a_poll_that_may_still_see_the_picture() {
    let service = ScriptedServer::start().await;
    service
        .answer(Answer::json(503, &json!({})).header("Retry-After", "600"))
        .answer(ready(&service));

    let picture = task(&client(&service), &service).wait_with(deadline(30)).await.unwrap();

    assert_eq!(picture.address().reveal(), samples::delivery_url(&service));
    let polls = service.polls();
    assert_eq!((polls[1].at - polls[0].at).as_secs(), 29);
}

/// One that asks for more than two minutes is asked again after two.
#[tokio::test(start_paused = true)]
async fn is_not_all_given_to_a_service_that_asks_for_hours() {
    let service = ScriptedServer::start().await;
    service
        .answer(Answer::json(429, &json!({})).header("Retry-After", "86400"))
        .answer(ready(&service));

    let _ = task(&client(&service), &service).wait_with(deadline(3600)).await.unwrap();

    let polls = service.polls();
    let pause = (polls[1].at - polls[0].at).as_secs();
    assert!((120..=125).contains(&pause), "{pause}");
}

#[tokio::test(start_paused = true)]
async fn is_ten_minutes_where_none_is_given() {
    let service = ScriptedServer::start().await;
    service.otherwise(|_| Answer::html(503));
    let started = Instant::now();

    let error = task(&client(&service), &service).wait().await.unwrap_err();

    assert_kind(&error, ErrorKind::Deadline);
    let waited = started.elapsed();
    assert!(waited > seconds(590) && waited <= seconds(600), "{waited:?}");
    assert_eq!(end_of(&error).1 as usize, service.polls().len());
}

#[tokio::test(start_paused = true)]
async fn no_interval_makes_a_wait_spin() {
    let service = ScriptedServer::start().await;
    service.otherwise(|_| samples::status("Pending"));

    let options = deadline(1).interval(Duration::ZERO).max_interval(Duration::ZERO);
    let error = task(&client(&service), &service).wait_with(options).await.unwrap_err();

    let (_, polls, _) = end_of(&error);
    assert!(polls <= 100, "{polls} polls within a second");
}

#[tokio::test(start_paused = true)]
async fn no_interval_is_too_long_to_count_with() {
    let service = ScriptedServer::start().await;
    service
        .answer(samples::status("Pending"))
        .answer(samples::status("Pending"))
        .answer(ready(&service));

    let longest = Duration::MAX;
    let options = WaitOptions::default().deadline(longest).interval(longest).max_interval(longest);
    let _ = task(&client(&service), &service).wait_with(options).await.unwrap();

    assert_eq!(service.polls().len(), 3);
}
