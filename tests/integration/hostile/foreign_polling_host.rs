//! Submission responses with a polling URL at another host.

use serde_json::json;

use crate::support::{
    reply::Reply,
    samples::{self, assert_kind, client, fox, ready},
    scripted::ScriptedServer,
};
use imagekiln::{Billing, ErrorKind, TaskRef, WaitEnd};

#[tokio::test(start_paused = true)]
async fn a_foreign_host_receives_neither_the_key_nor_a_request() {
    let (service, foreign) = (ScriptedServer::start().await, ScriptedServer::start().await);
    service.reply(samples::accepted(&foreign, "t1"));
    let task = client(&service).submit(fox()).await.unwrap();

    let error = task.wait().await.unwrap_err();

    assert_kind(&error, ErrorKind::KeyWithheld);
    assert_eq!(error.task(), Some(task.reference()));
    assert!(matches!(error.wait_end(), Some(WaitEnd::Refused { status: None, .. })), "{error:?}");
    assert_ne!(error.billing(), Billing::Unknown);
    let shown = error.to_string();
    assert!(shown.contains(&foreign.authority()), "{shown}");
    assert!(shown.contains("allow_polling_host"), "{shown}");
    foreign.assert_received_nothing();
    service.only_request().assert_has_key();
}

#[tokio::test(start_paused = true)]
async fn an_allowed_foreign_host_is_polled_with_the_key() {
    let (service, polls) = (ScriptedServer::start().await, ScriptedServer::start().await);
    service.reply(samples::accepted(&polls, "t1"));
    polls.reply(samples::status("Pending")).reply(ready(&polls));
    let client = samples::builder(&service).allow_polling_host(polls.authority()).build().unwrap();

    let _ = client.submit(fox()).await.unwrap().wait().await.unwrap();

    assert_eq!(polls.polls().len(), 2);
    polls.assert_every_request_has_the_key();
}

#[tokio::test(start_paused = true)]
async fn a_task_is_polled_after_another_client_allows_the_host() {
    let (service, polls) = (ScriptedServer::start().await, ScriptedServer::start().await);
    service.reply(samples::accepted(&polls, "t1"));
    let error = client(&service).submit(fox()).await.unwrap().poll().await.unwrap_err();
    polls.assert_received_nothing();
    let kept = serde_json::to_string(error.task().unwrap()).unwrap();

    polls.reply(ready(&polls));
    let client = samples::builder(&service).allow_polling_host(polls.authority()).build().unwrap();
    let reference: TaskRef = serde_json::from_str(&kept).unwrap();
    let _ = client.task(reference).wait().await.unwrap();

    polls.only_request().assert_has_key();
    service.only_request();
}

#[tokio::test(start_paused = true)]
async fn a_different_port_of_an_allowed_host_receives_nothing() {
    let (service, allowed, foreign) = (
        ScriptedServer::start().await,
        ScriptedServer::start().await,
        ScriptedServer::start().await,
    );
    service.reply(samples::accepted(&foreign, "t1"));
    let client =
        samples::builder(&service).allow_polling_host(allowed.authority()).build().unwrap();

    let error = client.submit(fox()).await.unwrap().wait().await.unwrap_err();

    assert_kind(&error, ErrorKind::KeyWithheld);
    foreign.assert_received_nothing();
    allowed.assert_received_nothing();
}

/// URLs whose host is not the one that it appears to be.
#[tokio::test(start_paused = true)]
async fn every_spelling_of_a_foreign_host_is_recognized() {
    let (service, foreign) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let (ours, theirs) = (service.authority(), foreign.authority());
    for url in [
        format!("//{theirs}/x"),
        format!("http://{ours}@{theirs}/x"),
        format!("http:\\\\{theirs}\\x"),
        format!("\thttp://{theirs}#@{ours}/x"),
        format!("https://{ours}/x"),
        format!("ftp://{ours}/x"),
    ] {
        service.reply(Reply::json(200, &json!({ "id": "t1", "polling_url": url })));
        let task = client(&service).submit(fox()).await.unwrap();

        let error = task.wait().await.unwrap_err();

        assert_eq!(error.kind(), ErrorKind::KeyWithheld, "{url}");
    }
    foreign.assert_received_nothing();
    assert!(service.polls().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_polling_url_without_a_host_is_at_the_service() {
    let service = ScriptedServer::start().await;
    service
        .reply(Reply::json(
            200,
            &json!({ "id": "t1", "polling_url": "/v1/get_result?id=t1&part=2" }),
        ))
        .reply(ready(&service));

    let _ = client(&service).submit(fox()).await.unwrap().wait().await.unwrap();

    let poll = &service.polls()[0];
    assert_eq!(poll.target, "/v1/get_result?id=t1&part=2");
    poll.assert_has_key();
}
