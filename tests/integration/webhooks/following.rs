//! Events are confirmed by polls in the region of the submission, and tasks are passed to the
//! handler once.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use axum::Router;
use serde_json::json;
use tokio::{
    sync::mpsc,
    time::{self, Instant},
};

use super::{
    signed::{PENDING, READY},
    test_receiver::{TestReceiver, setup, submit, verifier},
};
use crate::support::{
    events::Events,
    reply::Reply,
    samples::{self, assert_kind, fox, seconds, served},
    scripted::ScriptedServer,
    settle,
};
use imagekiln::{Billing, ErrorKind, Region, WaitOptions, types, webhook::Receiver};

/// The event contains only the id.
#[tokio::test(start_paused = true)]
#[expect(deprecated, reason = "all regional operations are deprecated")]
async fn tasks_with_the_same_id_in_both_regions_are_handled() {
    let (service, regional) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let client = samples::builder(&service).regional_base_url(regional.url("")).build().unwrap();
    let mut receiver = TestReceiver::of(Receiver::new(client.clone(), verifier())).await;
    submit(&client, &service, "t1").await;
    regional.reply(samples::accepted(&regional, "t1"));
    let request =
        types::GenPro11UltraFinetuned::new("fox-style").webhook_url("https://example.com/hook");
    let _ = client.submit(request).await.unwrap();
    service.reply(samples::ready(&service));
    regional.reply(samples::ready(&regional));

    assert_eq!(receiver.deliver(READY).await, 204);

    let mut handled = Vec::new();
    for _ in 0..2 {
        handled.push(receiver.outcome().await.unwrap().task().region().unwrap());
    }
    assert!(handled.contains(&Region::Global) && handled.contains(&Region::Regional));
}

#[tokio::test]
async fn an_early_pending_does_not_suppress_ready() {
    let (service, client, mut receiver) = setup().await;
    submit(&client, &service, "t1").await;
    service.reply(samples::status("Pending"));
    assert_eq!(receiver.deliver(PENDING).await, 204);
    service.wait_for_requests(2).await;
    assert!(!receiver.was_called());
    service.reply(samples::ready(&service));
    assert_eq!(receiver.deliver(READY).await, 204);
    assert!(receiver.outcome().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_task_is_handled_once_for_any_sequence_of_events() {
    let (service, client, mut receiver) = setup().await;
    submit(&client, &service, "t1").await;
    service.otherwise({
        let ready = samples::delivery_url(&service);
        move |_| Reply::json(200, &samples::ready_body(&ready))
    });
    // The poll returns `Ready`, although the event claims `Pending`.
    assert_eq!(receiver.deliver(PENDING).await, 204);
    let _ = receiver.outcome().await.unwrap();
    assert_eq!(receiver.deliver(READY).await, 204);
    assert_eq!(receiver.deliver(PENDING).await, 204);
    settle().await;
    assert!(!receiver.was_called());
    assert_eq!(service.polls().len(), 2, "one poll per new event");
}

#[tokio::test(start_paused = true)]
async fn a_poll_that_lags_behind_the_event_is_retried() {
    let (service, client, mut receiver) = setup().await;
    submit(&client, &service, "t1").await;
    service.reply(samples::status("Pending")).reply(samples::status("Pending"));
    service.reply(samples::ready(&service));
    assert_eq!(receiver.deliver(READY).await, 204);
    assert!(receiver.outcome().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_failed_confirmation_is_retried() {
    let (service, client, mut receiver) = setup().await;
    submit(&client, &service, "t1").await;
    let denied = Reply::json(403, &json!({ "detail": "Forbidden" }));
    service.reply(Reply::status(502)).reply(Reply::reset()).reply(denied).reply(Reply::close());
    service.reply(samples::ready(&service));
    assert_eq!(receiver.deliver(READY).await, 204);
    assert!(receiver.outcome().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_unconfirmed_event_is_not_remembered() {
    let (service, client) = served().await;
    let receiver = Receiver::new(client.clone(), verifier());
    let mut receiver = TestReceiver::of(
        receiver.wait_options(WaitOptions::default().deadline(samples::seconds(20))),
    )
    .await;
    submit(&client, &service, "t1").await;
    service.otherwise(|_| Reply::status(500));
    assert_eq!(receiver.deliver(READY).await, 204);
    tokio::time::sleep(samples::seconds(60)).await;
    assert!(!receiver.was_called());

    service.reply(samples::ready(&service));
    assert_eq!(receiver.deliver(READY).await, 204);
    assert!(receiver.outcome().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_event_before_the_response_waits_for_it() {
    let (service, client, mut receiver) = setup().await;
    let (response, rest) = Reply::nothing().in_pieces();
    service.reply(response);
    let submission = tokio::spawn({
        let client = client.clone();
        async move { client.submit(fox().webhook_url("https://example.com/hook")).await }
    });
    service.wait_for_requests(1).await;
    assert_eq!(receiver.deliver(READY).await, 204);
    settle().await;
    assert_eq!(
        service.received().len(),
        1,
        "the receiver polled while the submission was in flight"
    );

    service.reply(samples::ready(&service));
    rest.send(samples::accepted(&service, "t1").bytes());
    assert!(receiver.outcome().await.is_ok());
    assert_eq!(submission.await.unwrap().unwrap().id(), "t1");
    assert!(service.polls()[0].target.starts_with("/poll/t1?"));
}

/// The response was lost, so billing is unknown, but the event contains the task id.
#[tokio::test(start_paused = true)]
async fn an_event_finds_its_task_if_the_response_was_lost() {
    let (service, client, mut receiver) = setup().await;
    service.reply(Reply::reset());
    let error = client.submit(fox().webhook_url("https://example.com/hook")).await.unwrap_err();
    assert_eq!(error.billing(), Billing::Unknown);
    service.reply(samples::ready(&service));
    assert_eq!(receiver.deliver(READY).await, 204);
    assert_eq!(receiver.outcome().await.unwrap().task().id(), "t1");
    assert_eq!(service.posts().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_event_waits_at_most_a_minute() {
    let service = ScriptedServer::start().await;
    let client =
        samples::builder(&service).silence_timeout(samples::seconds(3600)).build().unwrap();
    let mut receiver = TestReceiver::of(Receiver::new(client.clone(), verifier())).await;
    service.reply(Reply::silence());
    let submission =
        tokio::spawn(
            async move { client.submit(fox().webhook_url("https://example.com/hook")).await },
        );
    service.wait_for_requests(1).await;
    let delivered = Instant::now();
    service.reply(samples::ready(&service));
    assert_eq!(receiver.deliver(READY).await, 204);
    assert!(receiver.outcome().await.is_ok());
    assert_eq!(delivered.elapsed().as_secs(), 60);
    submission.abort();
}

#[tokio::test]
async fn the_task_of_another_process_is_polled_in_both_regions() {
    let (service, regional) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let client = samples::builder(&service).regional_base_url(regional.url("")).build().unwrap();
    let mut receiver = TestReceiver::of(Receiver::new(client, verifier())).await;
    service.reply(samples::status("Task not found"));
    regional.reply(samples::ready(&regional));
    assert_eq!(receiver.deliver(READY).await, 204);
    assert!(receiver.outcome().await.is_ok());
    for server in [&service, &regional] {
        assert_eq!(server.only_request().target, "/v1/get_result?id=t1");
        server.assert_every_request_has_the_key();
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_task_is_not_handled() {
    let (service, _client, mut receiver) = setup().await;
    service.otherwise(|_| samples::status("Task not found"));
    assert_eq!(receiver.deliver(READY).await, 204);
    tokio::time::sleep(samples::seconds(60)).await;
    assert!(!receiver.was_called());
    assert_eq!(service.polls().len(), 6);
    service.reply(samples::ready(&service));
    assert_eq!(receiver.deliver(READY).await, 204);
    assert!(receiver.outcome().await.is_ok(), "the event was remembered");
}

/// The service sent an event about the task, so it knows the task.
#[tokio::test(start_paused = true)]
async fn a_first_task_not_found_is_not_final() {
    let (service, client, mut receiver) = setup().await;
    submit(&client, &service, "t1").await;
    service.reply(samples::status("Task not found")).reply(samples::status("Task not found"));
    service.reply(samples::ready(&service));
    assert_eq!(receiver.deliver(READY).await, 204);
    assert!(receiver.outcome().await.is_ok());

    submit(&client, &service, "t2").await;
    service.otherwise(|_| samples::status("Task not found"));
    assert_eq!(receiver.deliver(r#"{"id": "t2", "status": "Ready"}"#).await, 204);
    assert_kind(&receiver.outcome().await.unwrap_err(), ErrorKind::TaskNotFound);
    assert_eq!(service.polls().len(), 3 + 6);

    submit(&client, &service, "t3").await;
    assert_eq!(receiver.deliver(r#"{"id": "t3", "status": "Task not found"}"#).await, 204);
    assert_kind(&receiver.outcome().await.unwrap_err(), ErrorKind::TaskNotFound);
    assert_eq!(service.polls().len(), 3 + 6 + 1);
}

#[tokio::test(start_paused = true)]
async fn a_withheld_key_ends_the_confirmation() {
    let (service, client, receiver) = setup().await;
    let elsewhere = json!({ "id": "t1", "polling_url": "https://elsewhere.example/poll" });
    service.reply(Reply::json(200, &elsewhere));
    let _ = client.submit(fox().webhook_url("https://example.com/hook")).await.unwrap();
    let events = Events::capture();
    assert_eq!(receiver.deliver(READY).await, 204);
    settle().await;
    assert!(events.text().contains("KeyWithheld"), "{}", events.text());
    assert_eq!(service.received().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_is_called_again() {
    let (service, client) = served().await;
    let calls = Arc::new(AtomicUsize::new(0));
    let (sender, outcomes) = mpsc::unbounded_channel();
    let router = Receiver::new(client.clone(), verifier()).router(move |outcome| {
        let (sender, call) = (sender.clone(), calls.fetch_add(1, Ordering::Relaxed));
        assert_ne!(call, 0, "the test handler panics before it returns its future");
        async move {
            assert_ne!(call, 1, "the test handler panics");
            sender.send(outcome).unwrap();
        }
    });
    let mut receiver =
        TestReceiver::serving(Router::new().nest("/hook", router.unwrap()), outcomes).await;
    submit(&client, &service, "t1").await;
    service.otherwise({
        let ready = samples::delivery_url(&service);
        move |_| Reply::json(200, &samples::ready_body(&ready))
    });
    for _panics in 0..2 {
        assert_eq!(receiver.deliver(READY).await, 204);
        settle().await;
        assert!(!receiver.was_called());
    }
    assert_eq!(receiver.deliver(READY).await, 204);
    assert!(receiver.outcome().await.is_ok());
}

#[tokio::test]
async fn a_failure_is_handled_as_the_error_of_a_wait() {
    let (service, client, mut receiver) = setup().await;
    submit(&client, &service, "t1").await;
    service.reply(samples::status("Error"));
    assert_eq!(receiver.deliver(r#"{"id": "t1"}"#).await, 204);
    let error = receiver.outcome().await.unwrap_err();
    assert_kind(&error, ErrorKind::TaskFailed);
    assert_eq!(error.task().unwrap().id(), "t1");
}

/// Each event ends one pause; no event starts polls of its own.
#[tokio::test(start_paused = true)]
async fn differing_events_about_one_task_share_its_polls() {
    let (service, client, mut receiver) = setup().await;
    submit(&client, &service, "t1").await;
    service.otherwise(|_| samples::status("Pending"));
    for number in 0..35 {
        let event = format!(r#"{{"id": "t1", "status": "Ready", "number": {number}}}"#);
        assert_eq!(receiver.deliver(&event).await, 204);
    }
    time::sleep(seconds(60)).await;
    let polls = service.polls().len();
    assert!(polls < 35 + 30, "{polls} polls");

    let delivered = samples::delivery_url(&service);
    service.otherwise(move |_| Reply::json(200, &samples::ready_body(&delivered)));
    assert_eq!(receiver.outcome().await.unwrap().task().id(), "t1");
    settle().await;
    assert!(!receiver.was_called());
}
