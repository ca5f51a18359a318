//! Each kind of error, as a person sees it.

use std::{error::Error as _, time::Duration};

use imagekiln::{Client, Error, ImageInput, Task, TaskRef, WaitEnd, types::*};
use serde_json::json;

use crate::support::{
    answer::Answer,
    samples::{self, KEY, PNG, deadline, fox},
    scripted::ScriptedServer,
};

#[tokio::test(start_paused = true)]
async fn each_kind_of_error_as_shown() {
    let mut shown = Vec::new();
    for (title, error) in errors().await {
        let kind = format!("{:?}", error.kind());
        shown.push(format!("# {title}\nkind {kind}, {}\n{}", facts(&error), text_of(&error)));
    }
    insta::assert_snapshot!(shown.join("\n\n"));
}

fn facts(error: &Error) -> String {
    let mut facts = vec![match error.may_have_been_billed() {
        true => "billing unknown".to_owned(),
        false => "billing known".to_owned(),
    }];
    facts.extend(error.status().map(|status| format!("status {status}")));
    facts.extend(error.retry_after().map(|wait| format!("retry after {} s", wait.as_secs())));
    // How long a wait took hangs on the spread of its pauses.
    facts.extend(error.wait_end().map(|end| match end {
        WaitEnd::DeadlineExceeded { polls, last_status, .. } => {
            format!("{polls} polls, last {last_status:?}")
        }
        end => format!("{end:?}"),
    }));
    facts.join(", ")
}

/// The message and its causes. Ports and names of temporary files differ from run to run.
fn text_of(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!("\n  caused by: {error}");
        cause = error.source();
    }
    let ports: Vec<String> = text
        .split("127.0.0.1:")
        .skip(1)
        .map(|rest| rest.chars().take_while(char::is_ascii_digit).collect())
        .collect();
    let text = ports.iter().fold(text, |text, port| text.replace(port.as_str(), "PORT"));
    match text.split_once(".imagekiln-") {
        Some((before, after)) => {
            format!("{before}.imagekiln-RANDOM{}", after.get(6..).unwrap_or_default())
        }
        None => text,
    }
}

async fn errors() -> Vec<(&'static str, Error)> {
    let server = ScriptedServer::start().await;
    let mut errors = settings();
    errors.extend(requests(&samples::client(&server)).await);
    server.assert_received_nothing();
    errors.extend(submissions().await);
    errors.extend(polls().await);
    errors.extend(deliveries().await);
    errors
}

fn settings() -> Vec<(&'static str, Error)> {
    let complete = || Client::builder().api_key(KEY).base_url("https://api.example.com");
    let error = |builder: imagekiln::ClientBuilder| builder.build().unwrap_err();
    vec![
        ("no key", error(Client::builder().base_url("https://api.example.com"))),
        ("no address", error(Client::builder().api_key(KEY))),
        ("a key with a line break", error(complete().api_key("a\nb"))),
        ("an address that is none", error(complete().base_url("api.example.com"))),
        (
            "an address with a query",
            error(complete().regional_base_url("https://a.example.com/?key=SECRET")),
        ),
        ("a prefix with a slash", error(complete().model_prefix("a/b"))),
        ("a cap of nothing", error(complete().max_active_tasks(0))),
        ("no time at all", error(complete().silence_timeout(Duration::ZERO))),
    ]
}

async fn requests(client: &Client) -> Vec<(&'static str, Error)> {
    let wrong = Gen2Flex::new("a fox")
        .width(63)
        .guidance(11)
        .output_format("gif")
        .webhook_url("no address")
        .extra("seed", "seven");
    #[allow(deprecated, reason = "a regional operation, and every one that is known is deprecated")]
    let regional = GenPro11UltraFinetuned::new("fox-style");
    vec![
        ("a request that does not fit", client.submit(wrong).await.unwrap_err()),
        (
            "a path that leads elsewhere",
            client.submit(BaseModelFinetuned::new("../finetune")).await.unwrap_err(),
        ),
        (
            "an image that is not there",
            client
                .submit(fox().input_image(ImageInput::path("/nowhere/fox.png")))
                .await
                .unwrap_err(),
        ),
        ("no regional address", client.submit(regional).await.unwrap_err()),
        (
            "a request to what is no submission",
            client
                .submit(imagekiln::Request::new(imagekiln::find_operation("get_result").unwrap()))
                .await
                .unwrap_err(),
        ),
    ]
}

async fn submissions() -> Vec<(&'static str, Error)> {
    let detail = json!({ "detail": [{ "loc": ["body", "width"], "msg": "Input should be 64 or more", "type": "greater_than_equal" }] });
    let answers = [
        ("no connection", None),
        ("the connection cut", Some(Answer::close())),
        ("silence", Some(Answer::silence())),
        (
            "refused key",
            Some(
                Answer::json(403, &json!({ "detail": format!("key {KEY} is unknown") }))
                    .header("x-request-id", "r-81"),
            ),
        ),
        ("refused body", Some(Answer::json(422, &detail))),
        ("refused body, in words", Some(Answer::json(422, &json!({ "detail": "no such LoRA" })))),
        ("no such path", Some(Answer::html(404))),
        ("a redirect", Some(Answer::redirect(307, "https://elsewhere.example/"))),
        (
            "too many, for long",
            Some(
                Answer::json(429, &json!({ "detail": "active tasks: 24" }))
                    .header("Retry-After", "3600"),
            ),
        ),
        ("out of order", Some(Answer::html(502))),
        ("a page instead of an answer", Some(Answer::html(200))),
        ("an answer without a task", Some(Answer::json(200, &json!({ "ok": true })))),
    ];
    let mut errors = Vec::new();
    for (title, answer) in answers {
        let server = ScriptedServer::start().await;
        let client = samples::client(&server);
        match answer {
            Some(answer) => drop(server.answer(answer)),
            None => drop(server),
        }
        errors.push((title, client.submit(fox()).await.unwrap_err()));
    }
    errors
}

async fn polls() -> Vec<(&'static str, Error)> {
    let answers = [
        ("the task failed", samples::status("Error")),
        ("moderated", samples::status("Content Moderated")),
        ("not found", samples::status("Task not found")),
        ("the key refused at a poll", Answer::json(403, &json!({ "detail": "no access" }))),
        ("a poll refused", Answer::status(400)),
        ("a poll redirected", Answer::redirect(302, "https://elsewhere.example/")),
    ];
    let mut errors = Vec::new();
    for (title, answer) in answers {
        let server = ScriptedServer::start().await;
        server.answer(answer);
        errors.push((
            title,
            samples::task(&samples::client(&server), &server).wait().await.unwrap_err(),
        ));
    }
    let server = ScriptedServer::start().await;
    server.otherwise(|_| Answer::html(502));
    let task = samples::task(&samples::client(&server), &server);
    errors.push(("one poll that failed", task.poll().await.unwrap_err()));
    // Intervals of whole seconds, so that the number of polls does not hang on their random spread.
    let options = deadline(3).interval(Duration::from_secs(2)).max_interval(Duration::from_secs(2));
    errors.push((
        "the deadline, and no poll got through",
        task.wait_with(options).await.unwrap_err(),
    ));

    let foreign = |address: &str| -> Task {
        let client =
            Client::builder().api_key(KEY).base_url("https://api.example.com").build().unwrap();
        client.task(TaskRef::new("t1", address, Some("gen-2-pro".to_owned())))
    };
    errors.push((
        "a foreign polling host",
        foreign("https://evil.example/v1/get_result?id=t1&s=SECRET").wait().await.unwrap_err(),
    ));
    errors
        .push(("a polling address that is none", foreign("get_result").wait().await.unwrap_err()));
    errors
}

async fn deliveries() -> Vec<(&'static str, Error)> {
    let folder = tempfile::tempdir().unwrap();
    let mut errors = Vec::new();
    let answers: [(_, fn() -> Answer); 3] = [
        ("a page instead of a picture", || Answer::html(200)),
        ("a truncated picture", || {
            Answer::png(&PNG[..40]).declaring_length(PNG.len()).then_close()
        }),
        ("a picture that is gone", || Answer::status(410)),
    ];
    for (title, answer) in answers {
        let (server, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
        let picture = samples::picture(&samples::client(&server), &server, &delivery).await;
        delivery.otherwise(move |_| answer());
        server.otherwise(|_| Answer::status(404));
        errors.push((title, picture.save(folder.path().join("fox.png")).await.unwrap_err()));
    }
    let (server, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let picture = samples::picture(&samples::client(&server), &server, &delivery).await;
    delivery.otherwise(|_| Answer::png(PNG));
    errors
        .push(("a folder that is not there", picture.save("/nowhere/fox.png").await.unwrap_err()));
    errors
}
