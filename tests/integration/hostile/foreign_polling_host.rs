//! Submission responses with a polling URL at another host.

use serde_json::json;

use crate::support::{
    reply::Reply,
    samples::{self, assert_kind, client, fox, ready},
    scripted::ScriptedServer,
};
use imagekiln::{Billing, ErrorKind, WaitEnd};

#[tokio::test(start_paused = true)]
async fn a_foreign_host_receives_neither_the_key_nor_a_request_until_it_is_allowed() {
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

    foreign.reply(ready(&foreign));
    let client = samples::builder(&service).allow_polling_host(foreign.authority());
    let _ = client.build().unwrap().task(error.task().unwrap().clone()).wait().await.unwrap();
    foreign.only_request().assert_has_key();
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
