//! A poll that fails is no task that failed.

use imagekiln::{ErrorKind, WaitEnd};
use serde_json::json;

use crate::support::{
    answer::Answer,
    samples::{self, assert_kind, client, fox, ready, seconds, task},
    scripted::ScriptedServer,
};

#[tokio::test(start_paused = true)]
async fn every_passing_failure_is_polled_over() {
    let failures = || {
        vec![
            Answer::json(500, &json!({ "detail": "oops" })),
            Answer::html(502),
            Answer::json(503, &json!({})),
            Answer::json(408, &json!({})),
            Answer::json(429, &json!({})),
            Answer::close(),
            Answer::reset(),
            Answer::silence(),
            Answer::html(200),
            Answer::json(200, &json!({ "id": "t1" })),
            Answer::json(200, &json!(["Ready"])),
            Answer::json(200, &json!({ "status": 1 })),
            Answer::status(204),
            Answer::json(200, &json!({ "status": "Ready" })).declaring_length(400).then_close(),
            Answer::json(200, &json!({ "status": "Ready", "result": null })),
            Answer::json(200, &samples::ready_body("")),
            Answer::json(200, &samples::ready_body("/fox.png")),
            Answer::json(200, &samples::ready_body("not yet")),
            Answer::json(200, &samples::ready_body("file:///etc/passwd")),
            Answer::json(200, &samples::ready_body("data:image/png;base64,iVBORw0KGgo=")),
            Answer::json(409, &json!({})),
            Answer::cut_chunks(b"{\"status\":\"Pend"),
            Answer::nothing().body("garbage\r\n\r\n").then_close(),
        ]
    };
    let service = ScriptedServer::start().await;
    service.answer(samples::accepted(&service, "t1"));
    let count = failures().len();
    failures().into_iter().for_each(|failure| {
        service.answer(failure);
    });
    service.answer(ready(&service));
    let task = client(&service).submit(fox()).await.unwrap();

    let picture = task.wait().await.unwrap();

    assert_eq!(picture.address().reveal(), samples::delivery_url(&service));
    assert_eq!((service.posts().len(), service.polls().len()), (1, count + 1));
    assert!(service.polls().iter().all(|poll| poll.target.starts_with("/poll/t1?signature=")));
    service.assert_every_request_has_the_key();
}

/// One poll tells what failed, with the reference to come back.
#[tokio::test(start_paused = true)]
async fn each_passing_failure_has_its_kind() {
    for (answer, kind) in [
        (Answer::html(500), ErrorKind::Service),
        (Answer::json(429, &json!({})), ErrorKind::RateLimited),
        (Answer::reset(), ErrorKind::Network),
        (Answer::silence(), ErrorKind::Network),
        (Answer::html(200), ErrorKind::Reply),
        (Answer::status(200).body(vec![b'x'; 5_000_000]), ErrorKind::Reply),
    ] {
        let service = ScriptedServer::start().await;
        service.answer(answer);
        let task = task(&client(&service), &service);

        let error = task.poll().await.unwrap_err();

        assert_kind(&error, kind);
        assert_eq!(error.task(), Some(task.reference()));
        assert!(!error.may_have_been_billed());
        service.only_request().assert_has_key();
    }
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_waited_out() {
    for status in [429, 503] {
        let service = ScriptedServer::start().await;
        service.answer(Answer::status(status).header("Retry-After", "33")).answer(ready(&service));

        let _ = task(&client(&service), &service).wait().await.unwrap();

        let polls = service.polls();
        // And a little longer, so that many clients do not come back at once.
        let pause = polls[1].at - polls[0].at;
        assert!(pause >= seconds(33) && pause <= seconds(38), "{pause:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_key_ends_the_wait_at_once() {
    for status in [401, 403] {
        let service = ScriptedServer::start().await;
        service.answer(Answer::json(status, &json!({ "detail": "the key was revoked" })));
        let task = task(&client(&service), &service);

        let error = task.wait().await.unwrap_err();

        assert_kind(&error, ErrorKind::Auth);
        assert_eq!(error.task(), Some(task.reference()));
        assert!(
            matches!(error.wait_end(), Some(WaitEnd::Refused { status: Some(seen), .. }) if *seen == status)
        );
        assert!(error.to_string().contains("the key was revoked"), "{error}");
        service.only_request().assert_has_key();
    }
}

#[tokio::test(start_paused = true)]
async fn a_poll_that_is_no_use_to_repeat_ends_the_wait() {
    for status in [400, 404, 405, 410, 422] {
        let service = ScriptedServer::start().await;
        service.answer(Answer::json(status, &json!({ "detail": "Not Found" })));

        let error = task(&client(&service), &service).wait().await.unwrap_err();

        assert_kind(&error, ErrorKind::Service);
        assert_eq!(error.status(), Some(status));
        assert!(error.wait_end().is_some() && error.task().is_some());
        service.only_request();
    }
}

#[tokio::test(start_paused = true)]
async fn a_polling_address_that_is_none_ends_the_wait() {
    let service = ScriptedServer::start().await;
    let reference = imagekiln::TaskRef::new("t1", "no address", None);

    let error = client(&service).task(reference).wait().await.unwrap_err();

    assert_kind(&error, ErrorKind::Settings);
    assert!(error.wait_end().is_some() && error.task().is_some());
    service.assert_received_nothing();
}

#[tokio::test(start_paused = true)]
async fn a_service_that_echoes_the_key_does_not_make_it_public() {
    for status in [400, 403, 429, 500] {
        let service = ScriptedServer::start().await;
        let said = json!({ "detail": [{ "loc": ["query", samples::KEY], "msg": samples::KEY, "type": "x" }] });
        service.answer(Answer::json(status, &said).header("X-Request-Id", samples::KEY));

        let error = task(&client(&service), &service).poll().await.unwrap_err();

        assert_kind(&error, error.kind());
        assert!(
            !format!("{:?}{:?}", error.violations(), error.request_id()).contains(samples::KEY)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn pauses_between_polls_grow_to_their_bound() {
    let service = ScriptedServer::start().await;
    (0..12).for_each(|_| {
        service.answer(samples::status("Pending"));
    });
    service.answer(ready(&service));

    let _ = task(&client(&service), &service).wait().await.unwrap();

    let polls = service.polls();
    let pauses: Vec<_> = polls.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
    assert!(pauses[0] <= seconds(1) / 2 + seconds(1) / 500, "{pauses:?}");
    assert!(
        pauses[11] > seconds(5) / 2 && pauses[11] <= seconds(5) + seconds(1) / 500,
        "{pauses:?}"
    );
}

/// Polls have a budget of their own. It never ends a wait: without it, the pauses are longer.
#[tokio::test(start_paused = true)]
async fn many_tasks_do_not_storm_a_service_that_is_down() {
    let service = ScriptedServer::start().await;
    service.otherwise(|_| Answer::html(503));
    let client = client(&service);
    let task = task(&client, &service);
    let waits = (0..100).map(|_| task.wait_with(samples::deadline(60)));

    let outcomes = futures_util::future::join_all(waits).await;

    outcomes
        .iter()
        .for_each(|outcome| assert_kind(outcome.as_ref().unwrap_err(), ErrorKind::Deadline));
    let polls = service.polls().len();
    assert!((200..500).contains(&polls), "{polls} polls within a minute");
}
