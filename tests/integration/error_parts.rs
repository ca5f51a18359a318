//! The details of errors that programs use.

use serde_json::json;

use crate::support::{
    reply::Reply,
    samples::{self, client, deadline, fox},
    scripted::ScriptedServer,
};
use imagekiln::{
    API_KEY_VARIABLE, BASE_URL_VARIABLE, Billing, Client, ClientBuilder, Error, ErrorKind,
    MODEL_PREFIX_VARIABLE, REGIONAL_BASE_URL_VARIABLE, WEBHOOK_URL_VARIABLE,
};

async fn submission(reply: Reply) -> Error {
    let service = ScriptedServer::start().await;
    service.reply(reply);
    client(&service).submit(fox()).await.unwrap_err()
}

async fn wait(reply: impl Fn() -> Reply + Send + Sync + 'static) -> Error {
    let service = ScriptedServer::start().await;
    service.otherwise(move |_| reply());
    samples::task(&client(&service), &service).wait_with(deadline(20)).await.unwrap_err()
}

#[tokio::test(start_paused = true)]
async fn errors_are_classified_as_transient_and_safe_to_repeat() {
    let no_settings = Client::builder().build().unwrap_err();
    let busy = Reply::status(429).header("Retry-After", "600");
    for (error, kind, transient, safe) in [
        (no_settings, "settings", false, true),
        (submission(Reply::status(422)).await, "validation", false, true),
        (submission(Reply::status(402)).await, "payment", false, true),
        (submission(busy).await, "rate_limited", true, true),
        (submission(Reply::reset()).await, "network", true, false),
        (submission(Reply::status(500)).await, "service", true, false),
        (submission(Reply::status(409)).await, "service", true, false),
        (submission(Reply::status(408)).await, "service", true, false),
        (submission(Reply::status(425)).await, "service", true, true),
        (submission(Reply::status(400)).await, "service", false, true),
        (submission(Reply::status(404)).await, "service", false, true),
        (submission(Reply::status(413)).await, "service", false, true),
        (submission(Reply::status(200).body("{}")).await, "response", true, false),
        (wait(|| samples::status("Error")).await, "task_failed", false, false),
        (wait(|| samples::status("Request Moderated")).await, "moderated", false, false),
        (wait(|| samples::status("Pending")).await, "deadline", true, false),
        (wait(|| Reply::status(403)).await, "auth", false, false),
    ] {
        let expected = (kind, transient, safe);
        let is_safe = error.billing() == Billing::NotBilled;
        assert_eq!((error.kind().as_str(), error.is_transient(), is_safe), expected, "{error}");
    }
}

#[test]
fn errors_about_settings_name_their_variables() {
    let setting = |builder: ClientBuilder| builder.build().unwrap_err().setting();
    let base = || Client::builder().base_url("http://127.0.0.1:1").api_key("a-key");
    assert_eq!(setting(Client::builder()), Some(API_KEY_VARIABLE));
    assert_eq!(setting(base().api_key("")), Some(API_KEY_VARIABLE));
    assert_eq!(setting(base().base_url("x")), Some(BASE_URL_VARIABLE));
    assert_eq!(setting(base().regional_base_url("x")), Some(REGIONAL_BASE_URL_VARIABLE));
    assert_eq!(setting(base().model_prefix("a/b")), Some(MODEL_PREFIX_VARIABLE));
    assert_eq!(setting(base().webhook_url("x")), Some(WEBHOOK_URL_VARIABLE));
    assert_eq!(setting(base().max_active(0)), None);
}

#[tokio::test]
async fn errors_have_a_message_an_advice_and_a_withheld_host() {
    let service = ScriptedServer::start().await;
    let elsewhere = json!({ "id": "t1", "polling_url": "https://elsewhere.example:8443/poll" });
    service.reply(Reply::json(200, &elsewhere));
    let task = client(&service).submit(fox()).await.unwrap();
    let error = task.wait().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KeyWithheld);
    assert_eq!(error.withheld_host(), Some("elsewhere.example:8443"));
    let (message, advice) = (error.message(), error.advice().unwrap());
    assert!(!advice.contains("::"), "{advice}");
    let function = error.function().unwrap();
    assert_eq!(function, "ClientBuilder::allow_polling_host");
    assert_eq!(error.to_string(), format!("{message} (task t1); {advice} ({function})"));

    let error = submission(Reply::json(403, &json!({ "detail": "a\nb".repeat(1000) }))).await;
    assert!(error.message().chars().count() <= 1003 && !error.message().contains('\n'), "{error}");
    assert_eq!(error.withheld_host(), None);
}

/// What a `main` that returns the error prints.
#[tokio::test(start_paused = true)]
async fn debug_prints_the_text_for_people_and_the_causes() {
    let error = submission(Reply::reset()).await;
    let text = format!("{error:?}");
    let (first, causes) = text.split_once("\n\nCaused by:\n    ").unwrap();
    assert_eq!(first, error.to_string());
    let direct = std::error::Error::source(&error).unwrap().to_string();
    assert!(causes.starts_with(&direct), "{causes}");
    assert!(!text.contains("reqwest::Error") && !text.contains("hyper"), "{text}");
    assert!(format!("{error:#?}").contains("kind: Network"));

    let plain = Client::builder().build().unwrap_err();
    assert_eq!(format!("{plain:?}"), plain.to_string());
}

/// A redacted copy of the response would have no member `detail`.
#[tokio::test(start_paused = true)]
async fn an_error_has_its_violations_whatever_a_webhook_secret_is() {
    let service = ScriptedServer::start().await;
    let violation = json!({ "loc": ["body", "width"], "msg": "too wide", "type": "range" });
    service.reply(Reply::json(422, &json!({ "detail": [violation] })));
    let request = fox().webhook_url("https://hooks.example.com/").webhook_secret("d");
    let error = client(&service).submit(request).await.unwrap_err();
    let [violation] = error.violations() else { panic!("{error:?}") };
    assert_eq!(violation.loc.len(), 2);
    assert!(violation.msg.starts_with("too wi"), "{violation}");
}
