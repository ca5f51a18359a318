//! Answers to the POST that are no success: which of them may have been billed, and what is told of
//! them.

use imagekiln::{Billing, Error, ErrorKind, ImageInput, Location};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::{
    answer::Answer,
    samples::{KEY, WEBHOOK_SECRET, assert_kind, client, fox, large_png, seconds},
    scripted::ScriptedServer,
};

/// The one POST is refused with `answer`; whatever it is, the POST is not repeated.
async fn refusal(answer: Answer) -> Error {
    let service = ScriptedServer::start().await;
    service.answer(answer);
    let started = Instant::now();
    let request =
        fox().webhook_url("https://hooks.example.com/done").webhook_secret(WEBHOOK_SECRET);

    let error = client(&service).submit(request).await.unwrap_err();

    tokio::time::sleep(seconds(3600)).await;
    assert_eq!(started.elapsed().as_secs(), 3600, "the error did not come at once");
    let post = service.only_request();
    post.assert_has_key();
    assert!(post.complete);
    error
}

#[tokio::test(start_paused = true)]
async fn failures_of_the_service_are_unknown_and_sent_once() {
    for status in [500, 502, 503, 504, 529, 408, 409, 410, 418, 423, 424, 451, 460, 499, 999] {
        let answer =
            Answer::json(status, &json!({ "detail": "overloaded" })).header("Retry-After", "30");

        let error = refusal(answer).await;

        assert_kind(&error, ErrorKind::Service);
        assert!(error.may_have_been_billed(), "{error:?}");
        assert_eq!((error.status(), error.retry_after()), (Some(status), Some(seconds(30))));
        assert!(error.to_string().contains("overloaded"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_proxy_that_fails_in_html_is_unknown() {
    let error = refusal(Answer::html(502)).await;

    assert_kind(&error, ErrorKind::Service);
    assert!(error.may_have_been_billed());
    assert!(!error.to_string().contains('<'), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_refused_key_is_not_billed() {
    for status in [401, 403] {
        let error = refusal(Answer::json(status, &json!({ "detail": "Not authenticated" }))).await;

        assert_kind(&error, ErrorKind::Auth);
        assert!(error.is_auth() && !error.may_have_been_billed());
        assert_eq!(error.status(), Some(status));
        assert!(error.to_string().contains("Not authenticated"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn other_refusals_are_not_billed() {
    for (status, kind, words) in [
        (400, ErrorKind::Service, "malformed"),
        (402, ErrorKind::Payment, "credits"),
        (404, ErrorKind::Service, "does not know this address"),
        (405, ErrorKind::Service, "method"),
        (406, ErrorKind::Service, "refused"),
        (407, ErrorKind::Service, "proxy"),
        (413, ErrorKind::Service, "too large"),
        (415, ErrorKind::Service, "JSON"),
        (425, ErrorKind::Service, "early"),
    ] {
        let error =
            refusal(Answer::json(status, &json!({ "message": "no", "id": "request-7" }))).await;

        assert_kind(&error, kind);
        assert_eq!(error.billing(), Billing::NotBilled, "{error:?}");
        assert_eq!(error.task(), None, "an id in a refusal is that of the request");
        assert!(error.to_string().contains(words), "{error}");
        assert!(error.to_string().contains("nothing was paid"), "{error}");
        assert_eq!(error.status(), Some(status));
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_of_violations_is_told_whole() {
    let detail = json!([
        { "loc": ["body", "width"], "msg": "must be at least 64", "type": "greater_than_equal" },
        { "loc": ["body", "frames", 3], "msg": "is no image", "type": "value_error", "ctx": { "more": 1 } },
    ]);

    let error = refusal(Answer::json(422, &json!({ "detail": detail }))).await;

    assert_kind(&error, ErrorKind::Validation);
    assert!(error.is_validation() && !error.may_have_been_billed());
    let [width, frame] = error.violations() else { panic!("{:?}", error.violations()) };
    assert_eq!((width.field(), width.msg.as_str()), (Some("width"), "must be at least 64"));
    assert_eq!(frame.loc[2], Location::Index(3));
    assert_eq!(frame.kind, "value_error");
    let shown = error.to_string();
    assert!(shown.contains("width: must be at least 64; frames.3: is no image"), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn a_violation_in_plain_text_is_told() {
    let error =
        refusal(Answer::json(422, &json!({ "detail": "the image can't be decoded" }))).await;

    assert_kind(&error, ErrorKind::Validation);
    assert!(error.violations().is_empty() && !error.may_have_been_billed());
    assert!(error.to_string().contains("the image can't be decoded"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_violation_that_nobody_can_read_is_one_still() {
    for body in [
        "",
        "null",
        "[]",
        "{\"detail\":{\"loc\":5}}",
        "{\"detail\":[7,null,{\"msg\":1}]}",
        "\u{0}\u{1}",
    ] {
        let error = refusal(Answer::status(422).body(body)).await;

        assert_kind(&error, ErrorKind::Validation);
        assert_eq!(error.status(), Some(422), "{body}");
        assert!(!error.may_have_been_billed());
    }
    assert_kind(&refusal(Answer::html(422)).await, ErrorKind::Validation);
}

/// `assert_kind` looks for the secrets.
#[tokio::test(start_paused = true)]
async fn a_service_that_echoes_the_secrets_does_not_make_them_public() {
    let said = format!("key {KEY} may not use webhook secret {WEBHOOK_SECRET}\u{1b}[31m");
    let violation =
        json!({ "loc": ["body", KEY, { "x": 1 }], "msg": said, "type": WEBHOOK_SECRET });
    let located = json!({ "loc": ["body", KEY], "msg": said, "type": WEBHOOK_SECRET });
    for detail in
        [json!(said), json!([said]), json!([violation]), json!([located]), json!({ "msg": said })]
    {
        for status in [400, 403, 422, 500] {
            let answer =
                Answer::json(status, &json!({ "detail": detail })).header("X-Request-Id", KEY);

            let error = refusal(answer).await;

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

/// What was sent signed is as good as a key to whoever reads the error.
#[tokio::test(start_paused = true)]
async fn a_service_that_echoes_what_was_sent_signed_does_not_make_it_public() {
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
        service.answer(Answer::json(
            status,
            &json!({ "detail": [{ "loc": [echo], "msg": echo, "type": echo }] }),
        ));

        let error = client(&service).submit(request()).await.unwrap_err();

        let shown = format!("{error} {error:?} {:?}", error.violations());
        for secret in ["X9f", "rotated-secret", "hook-password", KEY] {
            assert!(!shown.contains(secret), "`{secret}` is in {shown}");
        }
        assert!(shown.contains("https://bucket.example/fox.png?[redacted]"), "{shown}");
    }
}

#[tokio::test(start_paused = true)]
#[expect(deprecated, reason = "the contract shows no fields of deprecated operations")]
async fn a_webhook_secret_is_one_also_where_the_contract_does_not_list_it() {
    let service = ScriptedServer::start().await;
    service.answer(Answer::json(400, &json!({ "detail": format!("bad secret {WEBHOOK_SECRET}") })));
    let request = imagekiln::types::GenPro10::new().extra("webhook_secret", WEBHOOK_SECRET);

    let error = client(&service).submit(request).await.unwrap_err();

    assert_kind(&error, ErrorKind::Service);
    assert!(error.to_string().contains("bad secret [redacted]"), "{error}");
}

/// A log line is one line, however much the service writes.
#[tokio::test(start_paused = true)]
async fn what_a_service_writes_is_shown_on_one_bounded_line() {
    let wild = format!("\u{1b}[2J\u{202e}\r\n{}", "x".repeat(1_000));
    let violation = json!({ "loc": ["body", wild], "msg": wild, "type": wild });
    let many: Vec<Value> = vec![violation; 500];

    let error = refusal(
        Answer::json(422, &json!({ "detail": many })).header("X-Request-Id", &"r".repeat(9_000)),
    )
    .await;

    let shown = error.to_string();
    assert!(shown.len() < 12_000, "{} bytes", shown.len());
    assert!(!shown.chars().any(|c| c.is_control() || c == '\u{202e}'), "{shown:?}");
    assert!(shown.contains("and 80 more"), "{shown}");

    let service = ScriptedServer::start().await;
    service
        .answer(Answer::json(200, &json!({ "id": wild, "polling_url": "/poll" })))
        .answer(Answer::json(200, &json!({ "status": wild })))
        .answer(Answer::json(400, &json!({})));
    let task = client(&service).submit(fox()).await.unwrap();
    let status = task.poll().await.unwrap().status().clone();
    assert_eq!(status.as_str(), wild);
    let error = task.poll().await.unwrap_err();
    for shown in [status.to_string(), error.to_string()] {
        assert!(shown.len() < 500, "{} bytes", shown.len());
        assert!(!shown.chars().any(|c| c.is_control() || c == '\u{202e}'), "{shown:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_without_end_is_cut() {
    let error = refusal(Answer::json(500, &Value::from("x".repeat(1_000_000)))).await;
    assert!(error.to_string().len() < 1000);

    let error = refusal(Answer::json(400, &Value::from("x".repeat(8_000_000)))).await;
    assert_kind(&error, ErrorKind::Service);
    assert!(!error.may_have_been_billed(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_before_the_whole_upload_counts() {
    let service = ScriptedServer::start().await;
    let answer = Answer::json(413, &json!({ "detail": "too large" }));
    service.answer(answer.early().then_silence());
    let image = imagekiln::ImageInput::bytes(large_png(4_000_000));

    let error = client(&service).submit(fox().input_image(image)).await.unwrap_err();

    assert_kind(&error, ErrorKind::Service);
    assert_eq!(error.status(), Some(413));
    assert!(!error.may_have_been_billed());
    service.only_request().assert_has_key();
}
