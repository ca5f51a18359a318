//! From an event to the handler: confirmed by polls where the task was submitted, and handed over
//! once.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use axum::Router;
use imagekiln::{Billing, ErrorKind, WaitOptions, webhook::Receiver};
use serde_json::json;
use tokio::{sync::mpsc, time::Instant};

use super::{
    signed::{PENDING, READY},
    stage::{Stage, setting, submit, verifier},
};
use crate::support::{
    answer::Answer,
    events::Events,
    samples::{self, assert_kind, fox},
    scripted::ScriptedServer,
    settle,
};

#[tokio::test]
async fn a_task_is_polled_where_it_was_submitted() {
    let (service, client, mut stage) = setting().await;
    submit(&client, &service, "t1").await;
    service.answer(samples::ready(&service));
    assert_eq!(stage.deliver(READY).await, 204);
    assert_eq!(stage.outcome().await.unwrap().task().id(), "t1");
    let polls = service.polls();
    assert_eq!(polls.len(), 1);
    assert!(polls[0].target.starts_with("/poll/t1?"), "{}", polls[0].target);
    service.assert_every_request_has_the_key();
}

#[tokio::test]
async fn an_early_pending_does_not_suppress_ready() {
    let (service, client, mut stage) = setting().await;
    submit(&client, &service, "t1").await;
    service.answer(samples::status("Pending"));
    assert_eq!(stage.deliver(PENDING).await, 204);
    service.wait_for_requests(2).await;
    assert!(!stage.was_called());
    service.answer(samples::ready(&service));
    assert_eq!(stage.deliver(READY).await, 204);
    assert!(stage.outcome().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_task_is_handed_over_once_whichever_events_come() {
    let (service, client, mut stage) = setting().await;
    submit(&client, &service, "t1").await;
    service.otherwise({
        let ready = samples::delivery_url(&service);
        move |_| Answer::json(200, &samples::ready_body(&ready))
    });
    // The picture is ready before the event that says otherwise has arrived.
    assert_eq!(stage.deliver(PENDING).await, 204);
    let _ = stage.outcome().await.unwrap();
    assert_eq!(stage.deliver(READY).await, 204);
    assert_eq!(stage.deliver(PENDING).await, 204);
    settle().await;
    assert!(!stage.was_called());
    assert_eq!(service.polls().len(), 2, "one for each event that was not seen before");
}

#[tokio::test(start_paused = true)]
async fn a_poll_that_lags_behind_the_event_is_repeated() {
    let (service, client, mut stage) = setting().await;
    submit(&client, &service, "t1").await;
    service.answer(samples::status("Pending")).answer(samples::status("Pending"));
    service.answer(samples::ready(&service));
    assert_eq!(stage.deliver(READY).await, 204);
    assert!(stage.outcome().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_confirmation_that_fails_is_retried() {
    let (service, client, mut stage) = setting().await;
    submit(&client, &service, "t1").await;
    let denied = Answer::json(403, &json!({ "detail": "Forbidden" }));
    service
        .answer(Answer::status(502))
        .answer(Answer::reset())
        .answer(denied)
        .answer(Answer::close());
    service.answer(samples::ready(&service));
    assert_eq!(stage.deliver(READY).await, 204);
    assert!(stage.outcome().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_event_that_was_never_confirmed_was_not_seen() {
    let service = ScriptedServer::start().await;
    let client = samples::client(&service);
    let receiver = Receiver::new(client.clone(), verifier());
    let mut stage =
        Stage::of(receiver.wait_options(WaitOptions::default().deadline(samples::seconds(20))))
            .await;
    submit(&client, &service, "t1").await;
    service.otherwise(|_| Answer::status(500));
    assert_eq!(stage.deliver(READY).await, 204);
    tokio::time::sleep(samples::seconds(60)).await;
    assert!(!stage.was_called());

    service.answer(samples::ready(&service));
    assert_eq!(stage.deliver(READY).await, 204);
    assert!(stage.outcome().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_event_that_arrives_before_the_response_is_held() {
    let (service, client, mut stage) = setting().await;
    let (response, rest) = Answer::nothing().in_pieces();
    service.answer(response);
    let submission = tokio::spawn({
        let client = client.clone();
        async move { client.submit(fox().webhook_url("https://example.com/hook")).await }
    });
    service.wait_for_requests(1).await;
    assert_eq!(stage.deliver(READY).await, 204);
    settle().await;
    assert_eq!(service.received().len(), 1, "nothing is polled while the submission is under way");

    service.answer(samples::ready(&service));
    rest.send(samples::accepted(&service, "t1").bytes());
    assert!(stage.outcome().await.is_ok());
    assert_eq!(submission.await.unwrap().unwrap().id(), "t1");
    assert!(service.polls()[0].target.starts_with("/poll/t1?"));
}

/// The response was lost, so billing is unknown. The event names the task all the same.
#[tokio::test(start_paused = true)]
async fn an_event_finds_the_task_of_a_submission_whose_response_was_lost() {
    let (service, client, mut stage) = setting().await;
    service.answer(Answer::reset());
    let error = client.submit(fox().webhook_url("https://example.com/hook")).await.unwrap_err();
    assert_eq!(error.billing(), Billing::Unknown);
    service.answer(samples::ready(&service));
    assert_eq!(stage.deliver(READY).await, 204);
    assert_eq!(stage.outcome().await.unwrap().task().id(), "t1");
    assert_eq!(service.posts().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_event_is_not_held_for_longer_than_a_minute() {
    let service = ScriptedServer::start().await;
    let client =
        samples::builder(&service).silence_timeout(samples::seconds(3600)).build().unwrap();
    let mut stage = Stage::of(Receiver::new(client.clone(), verifier())).await;
    service.answer(Answer::silence());
    let submission =
        tokio::spawn(
            async move { client.submit(fox().webhook_url("https://example.com/hook")).await },
        );
    service.wait_for_requests(1).await;
    let delivered = Instant::now();
    service.answer(samples::ready(&service));
    assert_eq!(stage.deliver(READY).await, 204);
    assert!(stage.outcome().await.is_ok());
    assert_eq!(delivered.elapsed().as_secs(), 60);
    submission.abort();
}

#[tokio::test]
async fn the_task_of_another_process_is_polled_by_its_id_at_both_addresses() {
    let (service, regional) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let client = samples::builder(&service).regional_base_url(regional.url("")).build().unwrap();
    let mut stage = Stage::of(Receiver::new(client, verifier())).await;
    service.answer(samples::status("Task not found"));
    regional.answer(samples::ready(&regional));
    assert_eq!(stage.deliver(READY).await, 204);
    assert!(stage.outcome().await.is_ok());
    for server in [&service, &regional] {
        assert_eq!(server.only_request().target, "/v1/get_result?id=t1");
        server.assert_every_request_has_the_key();
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_the_service_does_not_know_is_not_handed_over() {
    let (service, _client, mut stage) = setting().await;
    service.otherwise(|_| samples::status("Task not found"));
    assert_eq!(stage.deliver(READY).await, 204);
    tokio::time::sleep(samples::seconds(60)).await;
    assert!(!stage.was_called());
    assert_eq!(service.polls().len(), 6);
    service.answer(samples::ready(&service));
    assert_eq!(stage.deliver(READY).await, 204);
    assert!(stage.outcome().await.is_ok(), "the event was not seen before");
}

/// The service sent an event about the task, so it knows it.
#[tokio::test(start_paused = true)]
async fn a_poll_that_does_not_find_the_task_is_not_believed_at_once() {
    let (service, client, mut stage) = setting().await;
    submit(&client, &service, "t1").await;
    service.answer(samples::status("Task not found")).answer(samples::status("Task not found"));
    service.answer(samples::ready(&service));
    assert_eq!(stage.deliver(READY).await, 204);
    assert!(stage.outcome().await.is_ok());

    submit(&client, &service, "t2").await;
    service.otherwise(|_| samples::status("Task not found"));
    assert_eq!(stage.deliver(r#"{"id": "t2", "status": "Ready"}"#).await, 204);
    assert_kind(&stage.outcome().await.unwrap_err(), ErrorKind::TaskNotFound);
    assert_eq!(service.polls().len(), 3 + 6);

    submit(&client, &service, "t3").await;
    assert_eq!(stage.deliver(r#"{"id": "t3", "status": "Task not found"}"#).await, 204);
    assert_kind(&stage.outcome().await.unwrap_err(), ErrorKind::TaskNotFound);
    assert_eq!(service.polls().len(), 3 + 6 + 1);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_must_be_withheld_ends_the_confirmation() {
    let (service, client, stage) = setting().await;
    let elsewhere = json!({ "id": "t1", "polling_url": "https://elsewhere.example/poll" });
    service.answer(Answer::json(200, &elsewhere));
    let _ = client.submit(fox().webhook_url("https://example.com/hook")).await.unwrap();
    let events = Events::capture();
    assert_eq!(stage.deliver(READY).await, 204);
    settle().await;
    assert!(events.text().contains("KeyWithheld"), "{}", events.text());
    assert_eq!(service.received().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_is_called_again_by_the_next_delivery() {
    let service = ScriptedServer::start().await;
    let client = samples::client(&service);
    let panics = Arc::new(AtomicBool::new(true));
    let (sender, outcomes) = mpsc::unbounded_channel();
    let router = Receiver::new(client.clone(), verifier()).router(move |outcome| {
        let (sender, panics) = (sender.clone(), Arc::clone(&panics));
        async move {
            assert!(!panics.swap(false, Ordering::Relaxed), "the handler of this test panics");
            sender.send(outcome).unwrap();
        }
    });
    let mut stage = Stage::serving(Router::new().nest("/hook", router.unwrap()), outcomes).await;
    submit(&client, &service, "t1").await;
    service.otherwise({
        let ready = samples::delivery_url(&service);
        move |_| Answer::json(200, &samples::ready_body(&ready))
    });
    assert_eq!(stage.deliver(READY).await, 204);
    settle().await;
    assert!(!stage.was_called());
    assert_eq!(stage.deliver(READY).await, 204);
    assert!(stage.outcome().await.is_ok());
}

#[tokio::test]
async fn a_failure_is_handed_over_as_an_error_of_a_wait() {
    let (service, client, mut stage) = setting().await;
    submit(&client, &service, "t1").await;
    service.answer(samples::status("Error"));
    assert_eq!(stage.deliver(r#"{"id": "t1"}"#).await, 204);
    let error = stage.outcome().await.unwrap_err();
    assert_kind(&error, ErrorKind::TaskFailed);
    assert_eq!(error.task().unwrap().id(), "t1");
}
