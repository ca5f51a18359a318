//! The printed form of every kind of error.

use std::{error::Error as _, fs::File, net::TcpStream, time::Duration};

use serde_json::json;
use tokio::net::TcpSocket;

use crate::support::{
    reply::Reply,
    samples::{self, KEY, PNG, deadline, fox, seconds},
    scripted::ScriptedServer,
};
use imagekiln::{
    Billing, Client, DELIVERY_VALIDITY, Error, ImageInput, Task, TaskRef, WaitEnd, types::*,
};

#[tokio::test(start_paused = true)]
async fn every_kind_of_error_is_displayed() {
    let mut shown = Vec::new();
    for (title, error) in errors().await {
        let kind = format!("{:?}", error.kind());
        shown.push(format!("# {title}\nkind {kind}, {}\n{}", facts(&error), text_of(&error)));
    }
    insta::assert_snapshot!(as_on_linux(&shown.join("\n\n")));
}

/// Replaces what systems describe in their own words.
fn as_on_linux(text: &str) -> String {
    let missing = File::open("/nowhere/fox.png").unwrap_err();
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let refused = TcpStream::connect(socket.local_addr().unwrap()).unwrap_err();
    text.replace(&missing.to_string(), "No such file or directory (os error 2)")
        .replace(&refused.to_string(), "Connection refused (os error 111)")
}

fn facts(error: &Error) -> String {
    let billing =
        if error.billing() == Billing::Unknown { "billing unknown" } else { "billing known" };
    let mut facts = vec![billing.to_owned()];
    facts.extend(error.status().map(|status| format!("status {status}")));
    facts.extend(error.retry_after().map(|wait| format!("retry after {} s", wait.as_secs())));
    // The duration of a wait depends on random jitter.
    facts.extend(error.wait_end().map(|end| match end {
        WaitEnd::DeadlineExceeded { polls, last_status, .. } => {
            format!("{polls} polls, last {last_status:?}")
        }
        end => format!("{end:?}"),
    }));
    facts.join(", ")
}

/// Returns the message and its causes, with ports replaced.
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
    ports.iter().fold(text, |text, port| text.replace(port.as_str(), "PORT"))
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
        ("no base URL", error(Client::builder().api_key(KEY))),
        ("a key with a line break", error(complete().api_key("a\nb"))),
        ("a base URL that is not a URL", error(complete().base_url("api.example.com"))),
        (
            "a base URL with a query",
            error(complete().regional_base_url("https://a.example.com/?key=SECRET")),
        ),
        ("a prefix with a slash", error(complete().model_prefix("a/b"))),
        ("a limit of 0 tasks", error(complete().max_active(0))),
        ("a timeout of 0", error(complete().silence_timeout(Duration::ZERO))),
    ]
}

async fn requests(client: &Client) -> Vec<(&'static str, Error)> {
    let wrong = Gen2Flex::new("a fox")
        .width(63)
        .guidance(11)
        .output_format("gif")
        .webhook_url("not a URL")
        .extra("seed", "seven");
    #[allow(deprecated, reason = "all regional operations are deprecated")]
    let regional = GenPro11UltraFinetuned::new("fox-style");
    vec![
        ("an invalid request", client.submit(wrong).await.unwrap_err()),
        (
            "a path parameter with dots",
            client.submit(BaseModelFinetuned::new("../finetune")).await.unwrap_err(),
        ),
        (
            "a missing image file",
            client
                .submit(fox().input_image(ImageInput::path("/nowhere/fox.png")))
                .await
                .unwrap_err(),
        ),
        ("no regional base URL", client.submit(regional).await.unwrap_err()),
        (
            "an operation that creates no task",
            client
                .submit(imagekiln::Request::new(imagekiln::find_operation("get_result").unwrap()))
                .await
                .unwrap_err(),
        ),
    ]
}

async fn submissions() -> Vec<(&'static str, Error)> {
    let detail = json!({ "detail": [{
        "loc": ["body", "width"],
        "msg": "Input should be 64 or more",
        "type": "greater_than_equal",
    }] });
    let replies = [
        ("no connection", None),
        ("the connection closed", Some(Reply::close())),
        ("silence", Some(Reply::silence())),
        (
            "a refused key",
            Some(
                Reply::json(403, &json!({ "detail": format!("key {KEY} is unknown") }))
                    .header("x-request-id", "r-81"),
            ),
        ),
        ("an invalid request (422)", Some(Reply::json(422, &detail))),
        (
            "an invalid request (422) with a text",
            Some(Reply::json(422, &json!({ "detail": "no such LoRA" }))),
        ),
        ("an unknown path", Some(Reply::html(404))),
        ("a redirect", Some(Reply::redirect(307, "https://elsewhere.example/"))),
        (
            "too many requests for an hour",
            Some(
                Reply::json(429, &json!({ "detail": "active tasks: 24" }))
                    .header("Retry-After", "3600"),
            ),
        ),
        ("a proxy error", Some(Reply::html(502))),
        ("an HTML page with status code 200", Some(Reply::html(200))),
        ("a response without a task", Some(Reply::json(200, &json!({ "ok": true })))),
    ];
    let mut errors = Vec::new();
    for (title, reply) in replies {
        let server = ScriptedServer::start().await;
        let client = samples::client(&server);
        match reply {
            Some(reply) => drop(server.reply(reply)),
            None => drop(server),
        }
        errors.push((title, client.submit(fox()).await.unwrap_err()));
    }
    errors
}

async fn polls() -> Vec<(&'static str, Error)> {
    let replies = [
        ("the task failed", samples::status("Error")),
        ("moderated", samples::status("Content Moderated")),
        ("not found", samples::status("Task not found")),
        ("a poll with a refused key", Reply::json(403, &json!({ "detail": "no access" }))),
        ("a refused poll", Reply::status(400)),
        ("a redirected poll", Reply::redirect(302, "https://elsewhere.example/")),
    ];
    let mut errors = Vec::new();
    for (title, reply) in replies {
        let server = ScriptedServer::start().await;
        server.reply(reply);
        errors.push((
            title,
            samples::task(&samples::client(&server), &server).wait().await.unwrap_err(),
        ));
    }
    let server = ScriptedServer::start().await;
    server.otherwise(|_| Reply::html(502));
    let task = samples::task(&samples::client(&server), &server);
    errors.push(("a failed poll", task.poll().await.unwrap_err()));
    // Intervals of two seconds, so that the number of polls does not depend on jitter.
    let options = deadline(3).interval(Duration::from_secs(2)).max_interval(Duration::from_secs(2));
    errors.push((
        "the deadline without a successful poll",
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
        .push(("a polling URL that is not a URL", foreign("get_result").wait().await.unwrap_err()));
    errors
}

async fn deliveries() -> Vec<(&'static str, Error)> {
    let folder = tempfile::tempdir().unwrap();
    let mut errors = Vec::new();
    let truncated = || Reply::png(&PNG[..40]).declaring_length(PNG.len()).then_close();
    let replies: [(_, _, fn() -> Reply); 4] = [
        ("an HTML page instead of a picture", seconds(0), || Reply::html(200)),
        ("a truncated picture", seconds(0), truncated),
        ("a refused delivery URL", seconds(0), || Reply::status(403)),
        ("an expired picture", DELIVERY_VALIDITY, || Reply::status(410)),
    ];
    for (title, age, reply) in replies {
        let (server, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
        let picture = samples::picture(&samples::client(&server), &server, &delivery).await;
        tokio::time::advance(age).await;
        delivery.otherwise(move |_| reply());
        let ready = samples::ready_body(&samples::delivery_url(&delivery));
        server.otherwise(move |_| Reply::json(200, &ready));
        errors.push((title, picture.save(folder.path().join("fox.png")).await.unwrap_err()));
    }
    let (server, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let picture = samples::picture(&samples::client(&server), &server, &delivery).await;
    delivery.otherwise(|_| Reply::png(PNG));
    errors.push(("a missing directory", picture.save("/nowhere/fox.png").await.unwrap_err()));
    errors
}
