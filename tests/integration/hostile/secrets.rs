//! The key, webhook secrets and signed queries never appear in printed or logged text.

use std::{fmt::Debug, time::Duration};

use serde_json::json;
use tempfile::TempDir;
use tokio::time;

use crate::support::{
    events::Events,
    reply::Reply,
    samples::{
        self, DELIVERY_SIGNATURE, KEY, PNG, WEBHOOK_SECRET, assert_no_secret, fox, picture,
        ready_picture, seconds, served,
    },
    scripted::ScriptedServer,
};
use imagekiln::{ErrorKind, RetryPolicy, Secret, Task, WaitOptions};

fn shown(value: &impl Debug) -> String {
    format!("{value:?}\n{value:#?}")
}

#[tokio::test(start_paused = true)]
async fn debug_output_contains_no_secrets() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let builder = samples::builder(&service);
    let client = builder.clone().build().unwrap();
    let picture = picture(&client, &service, &delivery).await;
    service.reply(samples::ready(&delivery));
    let task = samples::task(&client, &service);
    let update = task.poll().await.unwrap();
    let updates = task.updates(WaitOptions::default());
    let request = fox().webhook_secret(WEBHOOK_SECRET).extra("token", KEY);

    let texts = [
        shown(&builder),
        shown(&client),
        shown(&task),
        shown(task.reference()),
        shown(&update),
        shown(&updates),
        shown(&picture),
        format!("{} {}", picture.address(), task.reference().polling_url()),
        shown(&request),
        shown(&imagekiln::Submit::into_request(request.clone())),
        shown(&Secret::from(WEBHOOK_SECRET)),
        shown(
            &imagekiln::Client::builder().base_url(format!("https://u:{KEY}@a.example/?k={KEY}")),
        ),
    ];

    texts.iter().for_each(|text| assert_no_secret(text));
    assert!(texts[0].contains("[redacted]") && texts[1].contains("[redacted]"));
}

/// Nearly everything fails in this test, so that nearly everything is logged.
#[tokio::test(start_paused = true)]
async fn events_and_spans_contain_no_secrets() {
    let events = Events::capture();
    let directory = TempDir::new().unwrap();
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let echo = json!({ "detail": format!("{KEY} {WEBHOOK_SECRET}") });
    service
        .reply(Reply::json(429, &echo))
        .reply(samples::accepted(&service, "t1"))
        .reply(Reply::json(500, &echo))
        .reply(Reply::reset())
        .reply(Reply::html(200))
        .reply(samples::status("Pending"))
        .reply(samples::ready(&delivery))
        .reply(samples::ready(&delivery))
        .reply(samples::ready(&delivery))
        .reply(samples::ready(&delivery))
        .reply(Reply::json(500, &echo))
        .reply(Reply::json(403, &echo))
        .reply(Reply::redirect(302, &samples::delivery_url(&delivery)));
    delivery
        .reply(Reply::html(200))
        .reply(Reply::redirect(302, &samples::delivery_url(&delivery)))
        .reply(Reply::png(PNG))
        .reply(Reply::status(403))
        .reply(Reply::status(403))
        .reply(Reply::status(403))
        .reply(Reply::status(403));
    let retry = RetryPolicy::default().longest_doubt(Duration::ZERO);
    let client = samples::builder(&service).retry(retry).build().unwrap();
    let request = || {
        fox()
            .webhook_url("https://hooks.example.com/done?k=1")
            .webhook_secret(WEBHOOK_SECRET)
            .input_image(PNG.to_vec())
    };

    let task = client.submit(request()).await.unwrap();
    let picture = task.wait().await.unwrap();
    picture.save(directory.path().join("fox.png")).await.unwrap();
    time::advance(seconds(700)).await;
    picture.save(directory.path().join("late.png")).await.unwrap_err();
    client.submit(request()).await.unwrap_err();
    client.submit(request()).await.unwrap_err();
    task.wait().await.unwrap_err();

    let log = events.text();
    assert_no_secret(&log);
    assert!(!log.contains("red fox"), "the prompt was logged");
    for logged in [
        "submit",
        "gen-2-pro",
        "t1",
        "attempt",
        "submission accepted",
        "poll",
        "HTTP request",
        "url.full",
        "[redacted]",
        "picture saved",
        "submission failed",
    ] {
        assert!(log.contains(logged), "`{logged}` was not logged:\n{log}");
    }
    delivery.assert_no_request_has_the_key();
    service.assert_every_request_has_the_key();
}

/// The service may echo the secret in a poll, even for a task of another client.
#[tokio::test(start_paused = true)]
async fn webhook_secrets_are_redacted_in_polls() {
    let service = ScriptedServer::start().await;
    let note = format!("signed with {WEBHOOK_SECRET}");
    let echo = || Reply::json(200, &json!({ "id": "t1", "status": "Pending", "note": note }));
    let shown = async |task: Task| {
        let update = task.poll().await.unwrap();
        serde_json::to_string(update.response()).unwrap()
    };

    let client = samples::builder(&service).webhook_secret(WEBHOOK_SECRET).build().unwrap();
    service.reply(echo());
    let of_setting = shown(samples::task(&client, &service)).await;

    let client = samples::client(&service);
    service.reply(samples::accepted(&service, "t1")).reply(echo());
    let request = fox().webhook_url("https://example.com/").webhook_secret(WEBHOOK_SECRET);
    let of_request = shown(client.submit(request).await.unwrap()).await;

    for text in [of_setting, of_request] {
        assert_no_secret(&text);
        assert!(text.contains("signed with [redacted]"), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn secrets_are_redacted_as_long_as_their_tasks_exist() {
    const TASKS: usize = 250;
    let (service, client) = served().await;
    let secret = |number: usize| format!("secret-{number:04}");
    let mut tasks = Vec::new();
    for number in 0..TASKS {
        service.reply(samples::accepted(&service, "t1"));
        let request = fox().webhook_url("https://example.com/").webhook_secret(secret(number));
        tasks.push(client.submit(request).await.unwrap());
    }
    for (number, task) in tasks.iter().enumerate() {
        let note = format!("signed with {}", secret(number));
        service.reply(Reply::json(200, &json!({ "id": "t1", "status": "Pending", "note": note })));
        let update = serde_json::to_string(task.poll().await.unwrap().response()).unwrap();
        assert!(update.contains("signed with [redacted]"), "{update}");
    }
}

/// The delivery host may echo secrets in headers that errors print.
#[tokio::test(start_paused = true)]
async fn secrets_in_headers_of_a_delivery_are_redacted() {
    let (_service, delivery, picture) = ready_picture().await;
    let declared = format!("text/{DELIVERY_SIGNATURE}");
    delivery.otherwise(move |_| Reply::status(200).header("content-type", &declared).body("x"));
    samples::assert_kind(&picture.bytes().await.unwrap_err(), ErrorKind::Damaged);
}

/// A secret that occurs in every response does not hide the status of a paid task.
#[tokio::test(start_paused = true)]
async fn a_short_webhook_secret_loses_no_picture() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let client = samples::builder(&service).webhook_secret("a").build().unwrap();
    for secret in ["e", "Ready"] {
        service.reply(samples::accepted(&service, "t1")).reply(samples::ready(&delivery));
        let request = fox().webhook_url("https://example.com/").webhook_secret(secret);
        let task = client.submit(request).await.unwrap();
        let _ = task.wait().await.unwrap_or_else(|error| panic!("{secret}: {error}"));
    }
}
