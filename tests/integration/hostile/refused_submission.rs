//! Failure responses to a submission: which may be billed, and how they are reported.

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::{
    reply::Reply,
    samples::{KEY, WEBHOOK_SECRET, assert_billing, assert_kind, client, fox, large_png, seconds},
    scripted::ScriptedServer,
};
use imagekiln::{Billing, Error, ErrorKind, ImageInput, Location};

/// Refuses a submission with `reply`, and asserts that it is not sent again.
async fn refusal(reply: Reply) -> Error {
    let service = ScriptedServer::start().await;
    service.reply(reply);
    let started = Instant::now();
    let request =
        fox().webhook_url("https://hooks.example.com/done").webhook_secret(WEBHOOK_SECRET);

    let error = client(&service).submit(request).await.unwrap_err();

    tokio::time::sleep(seconds(3600)).await;
    assert_eq!(started.elapsed().as_secs(), 3600, "the error was delayed");
    let post = service.only_request();
    post.assert_has_key();
    assert!(post.complete);
    error
}

#[tokio::test(start_paused = true)]
async fn failures_of_the_service_are_unknown_and_sent_once() {
    for status in [500, 502, 503, 504, 529, 408, 409, 410, 418, 423, 424, 451, 460, 499, 999] {
        let reply =
            Reply::json(status, &json!({ "detail": "overloaded" })).header("Retry-After", "30");

        let error = refusal(reply).await;

        assert_billing(&error, ErrorKind::Service, Billing::Unknown);
        assert_eq!((error.status(), error.retry_after()), (Some(status), Some(seconds(30))));
        assert!(error.to_string().contains("overloaded"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn refusals_are_not_billed() {
    for (status, kind, words) in [
        (400, ErrorKind::Service, "malformed"),
        (401, ErrorKind::Auth, "rejected the key"),
        (402, ErrorKind::Payment, "credits"),
        (403, ErrorKind::Auth, "rejected the key"),
        (404, ErrorKind::Service, "does not recognize this URL"),
        (405, ErrorKind::Service, "method"),
        (406, ErrorKind::Service, "rejected"),
        (407, ErrorKind::Service, "proxy"),
        (413, ErrorKind::Service, "too large"),
        (415, ErrorKind::Service, "JSON"),
        (425, ErrorKind::Service, "early"),
    ] {
        let error =
            refusal(Reply::json(status, &json!({ "message": "no", "id": "request-7" }))).await;

        assert_billing(&error, kind, Billing::NotBilled);
        assert_eq!(error.task(), None, "the id in a refusal is that of the request");
        assert!(error.to_string().contains(words), "{error}");
        assert!(error.to_string().contains("nothing was billed"), "{error}");
        assert_eq!(error.status(), Some(status));
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_of_violations_is_returned_completely() {
    let frame = json!({
        "loc": ["body", "frames", 3],
        "msg": "is not an image",
        "type": "value_error",
        "ctx": { "more": 1 },
    });
    let detail = json!([
        { "loc": ["body", "width"], "msg": "must be at least 64", "type": "greater_than_equal" },
        frame,
    ]);

    let error = refusal(Reply::json(422, &json!({ "detail": detail }))).await;

    assert_kind(&error, ErrorKind::Validation);
    assert_eq!(error.kind(), ErrorKind::Validation);
    assert_ne!(error.billing(), Billing::Unknown);
    let [width, frame] = error.violations() else { panic!("{:?}", error.violations()) };
    assert_eq!((width.field(), width.msg.as_str()), (Some("width"), "must be at least 64"));
    assert_eq!(frame.loc[2], Location::Index(3));
    assert_eq!(frame.kind, "value_error");
    let shown = error.to_string();
    assert!(shown.contains("width: must be at least 64; frames.3: is not an image"), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_violation_is_still_a_validation_error() {
    for body in [
        "",
        "null",
        "[]",
        "{\"detail\":{\"loc\":5}}",
        "{\"detail\":[7,null,{\"msg\":1}]}",
        "\u{0}\u{1}",
    ] {
        let error = refusal(Reply::status(422).body(body)).await;

        assert_kind(&error, ErrorKind::Validation);
        assert_eq!(error.status(), Some(422), "{body}");
        assert_ne!(error.billing(), Billing::Unknown);
    }
    assert_kind(&refusal(Reply::html(422)).await, ErrorKind::Validation);
}

/// `assert_kind` also checks for secrets.
#[tokio::test(start_paused = true)]
async fn echoed_secrets_are_redacted() {
    let text = format!("key {KEY} may not use webhook secret {WEBHOOK_SECRET}\u{1b}[31m");
    let violation =
        json!({ "loc": ["body", KEY, { "x": 1 }], "msg": text, "type": WEBHOOK_SECRET });
    let located = json!({ "loc": ["body", KEY], "msg": text, "type": WEBHOOK_SECRET });
    for detail in
        [json!(text), json!([text]), json!([violation]), json!([located]), json!({ "msg": text })]
    {
        for status in [400, 403, 422, 500] {
            let reply =
                Reply::json(status, &json!({ "detail": detail })).header("X-Request-Id", KEY);

            let error = refusal(reply).await;

            assert_kind(&error, error.kind());
            let violations = format!("{:?} {:?}", error.violations(), error.request_id());
            assert!(
                !violations.contains(KEY) && !violations.contains(WEBHOOK_SECRET),
                "{violations}"
            );
            assert!(!error.to_string().contains('\u{1b}'), "{error}");
        }
    }
}

/// Signed URLs that were sent grant access, like a key.
#[tokio::test(start_paused = true)]
async fn echoed_signed_urls_are_redacted() {
    let signature = "X9f%2Bq7/signed=";
    let image = format!("https://bucket.example/fox.png?name=fox&X-Signature={signature}");
    let hook = format!("https://user:hook-password@hooks.example/done?token={signature}#{KEY}");
    let request = || {
        fox()
            .input_image(ImageInput::url(image.as_str()))
            .webhook_url(hook.as_str())
            .extra("webhook_secrets", json!([{ "current": "rotated-secret" }]))
            .extra("storage", json!({ "put": format!("https://store.example/?sig={signature}") }))
    };
    let decoded = "X9f+q7/signed=";
    let echo = format!("{image} {hook} rotated-secret {decoded} {signature}");
    for status in [422, 500] {
        let service = ScriptedServer::start().await;
        service.reply(Reply::json(
            status,
            &json!({
                "detail": [{ "loc": [echo], "msg": echo, "type": echo, "input": { &echo: echo } }],
            }),
        ));

        let error = client(&service).submit(request()).await.unwrap_err();

        let violations = serde_json::to_string(error.violations()).unwrap();
        let response = serde_json::to_string(&error.response()).unwrap();
        let shown = format!("{error} {error:?} {violations} {response}");
        for secret in ["X9f", "rotated-secret", "hook-password", KEY] {
            assert!(!shown.contains(secret), "`{secret}` occurs in {shown}");
        }
        assert!(shown.contains("https://bucket.example/fox.png?[redacted]"), "{shown}");
    }
}

#[tokio::test(start_paused = true)]
#[expect(deprecated, reason = "the contract defines no fields of this deprecated operation")]
async fn an_undefined_webhook_secret_is_redacted() {
    let service = ScriptedServer::start().await;
    service.reply(Reply::json(400, &json!({ "detail": format!("bad secret {WEBHOOK_SECRET}") })));
    let request = imagekiln::types::GenPro10::new().extra("webhook_secret", WEBHOOK_SECRET);

    let error = client(&service).submit(request).await.unwrap_err();

    assert_kind(&error, ErrorKind::Service);
    assert!(error.to_string().contains("bad secret [redacted]"), "{error}");
}

/// Errors are a single bounded line, regardless of what the service sends.
#[tokio::test(start_paused = true)]
async fn service_messages_are_shown_on_one_bounded_line() {
    let message = format!("\u{1b}[2J\u{202e}\r\n{}", "x".repeat(1_000));
    let violation = json!({ "loc": ["body", message], "msg": message, "type": message });
    let many: Vec<Value> = vec![violation; 500];

    let error = refusal(
        Reply::json(422, &json!({ "detail": many })).header("X-Request-Id", &"r".repeat(9_000)),
    )
    .await;

    let shown = error.to_string();
    assert!(shown.len() < 12_000, "{} bytes", shown.len());
    assert!(!shown.chars().any(|c| c.is_control() || c == '\u{202e}'), "{shown:?}");
    assert!(shown.contains("and 80 more"), "{shown}");

    let service = ScriptedServer::start().await;
    service
        .reply(Reply::json(200, &json!({ "id": message, "polling_url": "/poll" })))
        .reply(Reply::json(200, &json!({ "status": message })))
        .reply(Reply::json(400, &json!({})));
    let task = client(&service).submit(fox()).await.unwrap();
    let status = task.poll().await.unwrap().status().clone();
    assert_eq!(status.as_str(), message);
    let error = task.poll().await.unwrap_err();
    for shown in [status.to_string(), error.to_string()] {
        assert!(shown.len() < 500, "{} bytes", shown.len());
        assert!(!shown.chars().any(|c| c.is_control() || c == '\u{202e}'), "{shown:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_endless_message_is_truncated() {
    let error = refusal(Reply::json(500, &Value::from("x".repeat(1_000_000)))).await;
    assert!(error.to_string().len() < 1000);

    let error = refusal(Reply::json(400, &Value::from("x".repeat(8_000_000)))).await;
    assert_billing(&error, ErrorKind::Service, Billing::NotBilled);
}

#[tokio::test(start_paused = true)]
async fn a_response_before_the_end_of_the_upload_counts() {
    let service = ScriptedServer::start().await;
    let reply = Reply::json(413, &json!({ "detail": "too large" }));
    service.reply(reply.early().then_silence());
    let image = imagekiln::ImageInput::bytes(large_png(4_000_000));

    let error = client(&service).submit(fox().input_image(image)).await.unwrap_err();

    assert_kind(&error, ErrorKind::Service);
    assert_eq!(error.status(), Some(413));
    assert_ne!(error.billing(), Billing::Unknown);
    service.only_request().assert_has_key();
}
