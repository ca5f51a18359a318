//! A failed poll is not a failed task.

use serde_json::json;
use tokio::time;

use crate::support::{
    reply::Reply,
    samples::{self, assert_kind, client, fox, ready, seconds, served, task},
    scripted::ScriptedServer,
};
use imagekiln::{Billing, ErrorKind, RetryPolicy, WaitEnd};

#[tokio::test(start_paused = true)]
async fn every_transient_failure_is_retried() {
    let failures = || {
        vec![
            Reply::json(500, &json!({ "detail": "oops" })),
            Reply::html(502),
            Reply::json(503, &json!({})),
            Reply::json(408, &json!({})),
            Reply::json(429, &json!({})),
            Reply::close(),
            Reply::reset(),
            Reply::silence(),
            Reply::html(200),
            Reply::json(200, &json!({ "id": "t1" })),
            Reply::json(200, &json!(["Ready"])),
            Reply::json(200, &json!({ "status": 1 })),
            Reply::status(204),
            Reply::json(200, &json!({ "status": "Ready" })).declaring_length(400).then_close(),
            Reply::json(200, &json!({ "status": "Ready" })),
            Reply::json(200, &json!({ "status": "Ready", "result": null })),
            Reply::json(200, &json!({ "status": "Ready", "result": {} })),
            Reply::json(200, &json!({ "status": "Ready", "result": "none" })),
            Reply::json(200, &json!({ "status": "Ready", "result": { "sample": null } })),
            Reply::json(200, &json!({ "status": "Ready", "result": { "sample": 7 } })),
            Reply::json(200, &samples::ready_body("")),
            Reply::json(200, &samples::ready_body("/fox.png")),
            Reply::json(200, &samples::ready_body("not yet")),
            Reply::json(200, &samples::ready_body("file:///etc/passwd")),
            Reply::json(200, &samples::ready_body("data:image/png;base64,iVBORw0KGgo=")),
            Reply::json(409, &json!({})),
            Reply::cut_chunks(b"{\"status\":\"Pend"),
            Reply::nothing().body("garbage\r\n\r\n").then_close(),
        ]
    };
    let service = ScriptedServer::start().await;
    service.reply(samples::accepted(&service, "t1"));
    let count = failures().len();
    failures().into_iter().for_each(|failure| {
        service.reply(failure);
    });
    service.reply(ready(&service));
    let task = client(&service).submit(fox()).await.unwrap();

    let picture = task.wait().await.unwrap();

    assert_eq!(picture.address().reveal(), samples::delivery_url(&service));
    assert_eq!((service.posts().len(), service.polls().len()), (1, count + 1));
    assert!(service.polls().iter().all(|poll| poll.target.starts_with("/poll/t1?signature=")));
    service.assert_every_request_has_the_key();
}

/// A single poll returns the failure with the reference of the task.
#[tokio::test(start_paused = true)]
async fn every_transient_failure_has_its_kind() {
    for (reply, kind) in [
        (Reply::html(500), ErrorKind::Service),
        (Reply::json(429, &json!({})), ErrorKind::RateLimited),
        (Reply::reset(), ErrorKind::Network),
        (Reply::silence(), ErrorKind::Network),
        (Reply::html(200), ErrorKind::Response),
        (Reply::status(200).body(vec![b'x'; 5_000_000]), ErrorKind::Response),
    ] {
        let service = ScriptedServer::start().await;
        service.reply(reply);
        let task = task(&client(&service), &service);

        let error = task.poll().await.unwrap_err();

        assert_kind(&error, kind);
        assert_eq!(error.task(), Some(task.reference()));
        assert_ne!(error.billing(), Billing::Unknown);
        service.only_request().assert_has_key();
    }
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_respected() {
    for status in [429, 503] {
        let service = ScriptedServer::start().await;
        service.reply(Reply::status(status).header("Retry-After", "33")).reply(ready(&service));

        let _ = task(&client(&service), &service).wait().await.unwrap();

        let polls = service.polls();
        // Slightly longer than requested, so that many clients do not return at the same time.
        let pause = polls[1].at - polls[0].at;
        assert!(pause >= seconds(33) && pause <= seconds(38), "{pause:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_key_ends_the_wait() {
    for status in [401, 403] {
        let service = ScriptedServer::start().await;
        service.reply(Reply::json(status, &json!({ "detail": "the key was revoked" })));
        let task = task(&client(&service), &service);

        let error = task.wait().await.unwrap_err();

        assert_kind(&error, ErrorKind::Auth);
        assert_eq!(error.task(), Some(task.reference()));
        let Some(WaitEnd::Refused { status: refused, .. }) = error.wait_end() else {
            panic!("{error:?}")
        };
        assert_eq!(*refused, Some(status));
        assert!(error.to_string().contains("the key was revoked"), "{error}");
        service.only_request().assert_has_key();
    }
}

#[tokio::test(start_paused = true)]
async fn a_permanent_failure_ends_the_wait() {
    for status in [400, 404, 405, 410, 422] {
        let service = ScriptedServer::start().await;
        service.reply(Reply::json(status, &json!({ "detail": "Not Found" })));

        let error = task(&client(&service), &service).wait().await.unwrap_err();

        assert_kind(&error, ErrorKind::Service);
        assert_eq!(error.status(), Some(status));
        assert!(error.wait_end().is_some() && error.task().is_some());
        service.only_request();
    }
}

#[tokio::test(start_paused = true)]
async fn an_echoed_key_is_redacted() {
    for status in [400, 403, 429, 500] {
        let service = ScriptedServer::start().await;
        let detail = json!([{ "loc": ["query", samples::KEY], "msg": samples::KEY, "type": "x" }]);
        let body = json!({ "detail": detail });
        service.reply(Reply::json(status, &body).header("X-Request-Id", samples::KEY));

        let error = task(&client(&service), &service).poll().await.unwrap_err();

        assert_kind(&error, error.kind());
        assert!(
            !format!("{:?}{:?}", error.violations(), error.request_id()).contains(samples::KEY)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn pauses_at_an_interval_grow_to_five_seconds() {
    let service = ScriptedServer::start().await;
    (0..12).for_each(|_| {
        service.reply(samples::status("Pending"));
    });
    service.reply(ready(&service));

    let options = samples::deadline(600).interval(seconds(1) / 2);
    let _ = task(&client(&service), &service).wait_with(options).await.unwrap();

    let polls = service.polls();
    let pauses: Vec<_> = polls.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
    assert!(pauses[0] <= seconds(1) / 2 + seconds(1) / 500, "{pauses:?}");
    assert!(
        pauses[11] > seconds(5) / 2 && pauses[11] <= seconds(5) + seconds(1) / 500,
        "{pauses:?}"
    );
}

/// Polls have a separate budget. Exhausting it makes the pauses longer but does not end a wait.
#[tokio::test(start_paused = true)]
async fn many_tasks_do_not_overload_a_failing_service() {
    let service = ScriptedServer::start().await;
    service.otherwise(|_| Reply::html(503));
    let client = client(&service);
    let task = task(&client, &service);
    let waits = (0..100).map(|_| task.wait_with(samples::deadline(60)));

    let outcomes = futures_util::future::join_all(waits).await;

    outcomes
        .iter()
        .for_each(|outcome| assert_kind(outcome.as_ref().unwrap_err(), ErrorKind::Deadline));
    let polls = service.polls();
    assert!((200..500).contains(&polls.len()), "{} polls within a minute", polls.len());
    let start = polls.iter().map(|poll| poll.at).min().unwrap();
    let at_the_end = polls.iter().filter(|poll| poll.at - start > seconds(57)).count();
    assert!(at_the_end < 50, "{at_the_end} polls shortly before the deadline");
}

/// A part of a service may not know a task or a key for a moment.
#[tokio::test(start_paused = true)]
async fn an_answer_that_others_contradict_is_doubted() {
    let (service, client) = served().await;
    service.reply(samples::accepted(&service, "t1"));
    let task = client.submit(fox()).await.unwrap();
    let not_found = || samples::status("Task not found");
    for doubtful in [not_found(), Reply::status(403), Reply::status(404), Reply::status(401)] {
        service.reply(doubtful).reply(Reply::status(500));
    }
    service.reply(samples::status("Pending"));
    for doubtful in [Reply::status(403), Reply::status(402), not_found()] {
        service.reply(doubtful);
    }
    service.reply(ready(&service));
    let _picture = task.wait().await.unwrap();
    assert_eq!(service.polls().len(), 8 + 1 + 3 + 1);

    // But not for ever.
    for (answer, kind) in
        [(Reply::status(403), ErrorKind::Auth), (not_found(), ErrorKind::TaskNotFound)]
    {
        let (before, body) = (service.polls().len(), answer.bytes());
        service.reply(samples::accepted(&service, "t2"));
        service.otherwise(move |_| Reply::nothing().body(&body));
        let task = client.submit(fox()).await.unwrap();
        let started = time::Instant::now();
        assert_kind(&task.wait().await.unwrap_err(), kind);
        assert_eq!(service.polls().len() - before, 5);
        assert!(started.elapsed() < seconds(30), "{:?}", started.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_nothing_contradicts_is_believed() {
    let service = ScriptedServer::start().await;
    // The key has never worked, and nobody has found the task.
    for (answer, kind) in [
        (Reply::status(403), ErrorKind::Auth),
        (samples::status("Task not found"), ErrorKind::TaskNotFound),
    ] {
        service.reply(answer);
        assert_kind(&task(&client(&service), &service).wait().await.unwrap_err(), kind);
    }
    let policy = RetryPolicy::default().longest_doubt(seconds(0));
    let client = samples::builder(&service).retry(policy).build().unwrap();
    service.reply(samples::accepted(&service, "t1")).reply(Reply::status(403));
    let task = client.submit(fox()).await.unwrap();
    assert_kind(&task.wait().await.unwrap_err(), ErrorKind::Auth);
    assert_eq!(service.polls().len(), 3);
}

/// The same scheme, host and port may have the key.
#[tokio::test(start_paused = true)]
async fn a_redirect_to_the_same_origin_is_followed() {
    let service = ScriptedServer::start().await;
    for (status, location) in [(307, "/poll/moved"), (302, &service.url("/poll/moved"))] {
        service.reply(Reply::redirect(status, location)).reply(ready(&service));
        let _picture = task(&client(&service), &service).wait().await.unwrap();
        assert!(service.polls().last().unwrap().target.ends_with("/poll/moved"));
    }
    service.assert_every_request_has_the_key();
    let before = service.polls().len();
    for _ in 0..4 {
        service.reply(Reply::redirect(308, "/poll/t1"));
    }
    let error = task(&client(&service), &service).wait().await.unwrap_err();
    assert_kind(&error, ErrorKind::Service);
    assert_eq!(service.polls().len() - before, 4);
}
