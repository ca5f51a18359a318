//! The parts of an error that programs ask for.

use imagekiln::{Client, Error, ErrorKind};
use serde_json::json;

use crate::support::{
    answer::Answer,
    samples::{self, client, deadline, fox},
    scripted::ScriptedServer,
};

async fn submission(answer: Answer) -> Error {
    let service = ScriptedServer::start().await;
    service.answer(answer);
    client(&service).submit(fox()).await.unwrap_err()
}

async fn wait(answer: impl Fn() -> Answer + Send + Sync + 'static) -> Error {
    let service = ScriptedServer::start().await;
    service.otherwise(move |_| answer());
    samples::task(&client(&service), &service).wait_with(deadline(20)).await.unwrap_err()
}

#[tokio::test(start_paused = true)]
async fn say_whether_to_try_again_and_whether_to_submit_again() {
    let unsettled = Client::builder().build().unwrap_err();
    let busy = Answer::status(429).header("Retry-After", "600");
    for (error, kind, transient, safe) in [
        (unsettled, "settings", false, true),
        (submission(Answer::status(422)).await, "validation", false, true),
        (submission(Answer::status(402)).await, "payment", false, true),
        (submission(busy).await, "rate_limited", true, true),
        (submission(Answer::reset()).await, "network", true, false),
        (submission(Answer::status(500)).await, "service", true, false),
        (submission(Answer::status(409)).await, "service", false, false),
        (submission(Answer::status(200).body("{}")).await, "reply", true, false),
        (wait(|| samples::status("Error")).await, "task_failed", false, false),
        (wait(|| samples::status("Request Moderated")).await, "moderated", false, false),
        (wait(|| samples::status("Pending")).await, "deadline", true, false),
        (wait(|| Answer::status(403)).await, "auth", false, false),
    ] {
        let expected = (kind, transient, safe);
        assert_eq!(
            (error.kind().as_str(), error.is_transient(), error.is_safe_to_repeat()),
            expected,
            "{error}"
        );
    }
}

#[tokio::test]
async fn are_the_message_the_advice_and_the_host() {
    let service = ScriptedServer::start().await;
    let elsewhere = json!({ "id": "t1", "polling_url": "https://elsewhere.example:8443/poll" });
    service.answer(Answer::json(200, &elsewhere));
    let task = client(&service).submit(fox()).await.unwrap();
    let error = task.wait().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KeyWithheld);
    assert_eq!(error.withheld_host(), Some("elsewhere.example:8443"));
    let (message, advice) = (error.message(), error.advice().unwrap());
    assert_eq!(error.to_string(), format!("{message} (task t1); {advice}"));

    let error = submission(Answer::json(403, &json!({ "detail": "a\nb".repeat(1000) }))).await;
    assert!(error.message().chars().count() <= 1003 && !error.message().contains('\n'), "{error}");
    assert_eq!(error.withheld_host(), None);
}
