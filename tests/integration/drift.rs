//! The events about responses that contain what the contract does not define.

use serde_json::{Map, Value, json};
use tokio::time;

use crate::{
    limits::unvalidated_client_of,
    operations::{client_of, simulator},
    support::{
        events::Events,
        reply::Reply,
        samples::{
            self, DELIVERY_SIGNATURE, KEY, WEBHOOK_SECRET, assert_no_secret, client, fox,
            polling_url, seconds, served, task,
        },
        scripted::ScriptedServer,
    },
};
use imagekiln::{Client, types::Gen2Pro};

const UNDEFINED: &str = "the service returned something that the contract does not define";
const IGNORED_COST: &str = "ignored the cost of a task: it is negative or not finite";
const UNLISTED_STATUS: &str = "the contract does not list this task status; the client polls again";

/// Polls once for each body, and returns the events.
async fn polled(bodies: impl IntoIterator<Item = Value>) -> Vec<String> {
    let events = Events::capture();
    let (service, client) = served().await;
    for body in bodies {
        service.reply(Reply::json(200, &body));
        // Some of the bodies fail the poll.
        let _ = task(&client, &service).poll().await;
    }
    events.with_message(UNDEFINED)
}

/// Polls once for a response with an unlisted field.
async fn poll_with_field(client: &Client, service: &ScriptedServer, name: &str) {
    service.reply(Reply::json(200, &json!({ "status": "Error", name: 1 })));
    task(client, service).poll().await.unwrap();
}

/// Submits once, and returns the events.
async fn submitted(body: Value) -> Vec<String> {
    let events = Events::capture();
    let service = ScriptedServer::start().await;
    service.reply(Reply::json(200, &body));
    let _task = client(&service).submit(fox()).await.unwrap();
    events.with_message(UNDEFINED)
}

#[test]
fn the_guide_lists_the_events() {
    let guide = include_str!("../../src/guide/transport.md");
    for (level, message) in [("WARN", UNDEFINED), ("WARN", IGNORED_COST), ("INFO", UNLISTED_STATUS)]
    {
        assert!(guide.contains(&format!("| `{level}` | `{message}` |")), "{message}");
    }
}

/// Later costs would count for less in a sum.
#[tokio::test(start_paused = true)]
async fn a_negative_cost_is_ignored_with_a_warning() {
    let events = Events::capture();
    let service = ScriptedServer::start().await;
    let body = json!({ "id": "t1", "polling_url": polling_url(&service, "t1"), "cost": -4 });
    service.reply(Reply::json(200, &body));
    let task = client(&service).submit(fox()).await.unwrap();
    assert_eq!(task.cost(), None);
    assert_eq!(events.with_message(IGNORED_COST), ["WARN cost=-4.0"]);
}

#[tokio::test(start_paused = true)]
async fn unlisted_fields_of_a_poll_are_named_once() {
    let body = json!({
        "id": "t1",
        "status": "Error",
        "not_defined": 0.5,
        "result": { "sample": "https://cdn.example.com/a.png", "not_defined": 7 },
    });
    let found = polled([body.clone(), body]).await;
    let expected = concat!(
        r#"WARN operation="gen-2-pro" response="PollResult" "#,
        r#"unlisted=["result.not_defined", "not_defined"]"#
    );
    assert_eq!(found, [expected]);
}

#[tokio::test(start_paused = true)]
async fn unexpected_types_are_named_with_the_type_found() {
    let first = json!({ "id": 7, "status": "Error", "result": [1] });
    let second = json!({ "id": true, "status": 3, "result": { "sample": {} } });
    let found = polled([first, second, json!([{ "id": "t1", "status": "Error" }])]).await;
    let start = r#"WARN operation="gen-2-pro" response="PollResult" types="#;
    assert_eq!(
        found,
        [
            format!(r#"{start}["id: number", "result: array"]"#),
            format!(r#"{start}["id: boolean", "result.sample: object", "status: number"]"#),
            format!(r#"{start}["the whole response: array"]"#),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn responses_to_submissions_are_checked() {
    let service = ScriptedServer::start().await;
    let url = polling_url(&service, "t1");
    let body = json!({ "id": 7, "polling_url": url, "cost": "4", "queue": 1, "input_mp": null });
    assert_eq!(
        submitted(body).await,
        [concat!(
            r#"WARN operation="gen-2-pro" response="AsyncResponse" "#,
            r#"unlisted=["queue"] types=["id: number", "cost: string"]"#
        )]
    );
    let body = json!({ "data": { "id": "t1", "polling_url": url, "queue": 1 } });
    assert_eq!(
        submitted(body).await,
        [r#"WARN operation="gen-2-pro" response="AsyncResponse" unlisted=["data.queue", "data"]"#]
    );
    let webhook = "https://hooks.example.com/done";
    let body = json!({ "id": "t1", "status": "Pending", "webhook_url": webhook, "cost": false });
    assert_eq!(
        submitted(body).await,
        [r#"WARN operation="gen-2-pro" response="AsyncWebhookResponse" types=["cost: boolean"]"#]
    );
}

#[tokio::test(start_paused = true)]
async fn responses_to_invalid_requests_are_checked() {
    let events = Events::capture();
    let service = ScriptedServer::start().await;
    let violation = json!({ "loc": ["body"], "msg": "m", "type": "t", "input": "a red fox" });
    let body = json!({ "detail": [violation, violation], "code": 7 });
    for body in [body, json!({ "detail": "too dark" }), json!("no")] {
        service.reply(Reply::json(422, &body));
    }
    let client = client(&service);
    for _ in 0..3 {
        client.submit(fox()).await.unwrap_err();
    }
    let start = r#"WARN operation="gen-2-pro" response="HTTPValidationError""#;
    assert_eq!(
        events.with_message(UNDEFINED),
        [
            format!(r#"{start} unlisted=["code", "detail.input"]"#),
            format!(r#"{start} types=["detail: string"]"#),
            format!(r#"{start} types=["the whole response: string"]"#),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_status_of_a_task_in_progress_is_a_note() {
    let events = Events::capture();
    let (service, client) = served().await;
    for status in ["Pending", "Pending", "Queued\n\u{1b}[31m", "Error"] {
        service.reply(samples::status(status));
        task(&client, &service).poll().await.unwrap();
    }
    let start = r#"INFO operation="gen-2-pro" response="PollResult" status="#;
    assert_eq!(
        events.with_message(UNLISTED_STATUS),
        [format!("{start}Pending"), format!("{start}Queued  [31m")]
    );
    assert!(events.with_message(UNDEFINED).is_empty());
}

/// The contract has a picture only with `Ready`, so the task may be ready under a new name.
#[tokio::test(start_paused = true)]
async fn an_unlisted_status_with_a_picture_is_a_warning() {
    let mut body = samples::ready_body("https://cdn.example.com/fox.png");
    body["status"] = json!("Succeeded");
    let found = polled([body.clone(), json!({ "status": "Succeeded" }), body]).await;
    assert_eq!(found, [r#"WARN operation="gen-2-pro" response="PollResult" status=Succeeded"#]);
}

#[tokio::test(start_paused = true)]
async fn events_are_limited_per_minute_and_later_responses_report_the_rest() {
    let events = Events::capture();
    let (service, client) = served().await;
    let poll = async |name: String| {
        poll_with_field(&client, &service, &name).await;
        events.with_message(UNDEFINED).len()
    };
    for number in 0..9 {
        assert_eq!(poll(format!("field_{number}")).await, 5.min(number + 1));
    }
    time::advance(seconds(59)).await;
    assert_eq!(poll("field_8".to_owned()).await, 5);
    time::advance(seconds(2)).await;
    assert_eq!(poll("field_0".to_owned()).await, 5);
    assert_eq!(poll("field_8".to_owned()).await, 6);
}

#[tokio::test(start_paused = true)]
async fn a_client_remembers_a_bounded_number_of_findings() {
    let events = Events::capture();
    let (service, client) = served().await;
    for number in 0..1001 {
        poll_with_field(&client, &service, &format!("field_{number}")).await;
        time::advance(seconds(61)).await;
    }
    assert_eq!(events.with_message(UNDEFINED).len(), 1000);
}

#[tokio::test(start_paused = true)]
async fn names_are_bounded_and_on_one_line() {
    // These are first in any order of the members, which depends on the features of `serde_json`.
    let strange = ["\u{1b}[31m\n\u{202e}".to_owned(), "a".repeat(5000)];
    let mut body: Map<String, Value> = strange.map(|name| (name, json!(1))).into_iter().collect();
    body.extend((0..100).map(|number| (format!("name_{number:02}"), json!(number))));
    body.insert("status".to_owned(), json!("Error"));
    let found = polled([body.into()]).await;
    let [event] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(event.matches("name_").count(), 18, "{event}");
    assert!(event.contains(r#"" [31m  ""#) && event.contains(r#"aaa...""#), "{event}");
    assert!(event.ends_with(" more=82") && event.len() < 600, "{event}");
}

#[tokio::test(start_paused = true)]
async fn events_contain_neither_values_nor_secrets() {
    let events = Events::capture();
    let (service, client) = served().await;
    let signed = format!("see https://cdn.example.com/?s={DELIVERY_SIGNATURE}");
    service.reply(Reply::json(
        200,
        &json!({
            "id": "t1",
            "polling_url": polling_url(&service, "t1"),
            KEY: 1,
            format!("for {WEBHOOK_SECRET}"): 1,
            "cost": format!("the prompt {KEY}"),
            "echo": "a red fox in the snow",
            signed: 1,
        }),
    ));
    let request = fox().webhook_url("https://hooks.example.com/").webhook_secret(WEBHOOK_SECRET);
    let task = client.submit(request).await.unwrap();
    service.reply(samples::status(&format!("Waiting for {KEY}"))).reply(Reply::json(
        200,
        &json!({ "status": "Error", format!("x{}", samples::POLLING_SIGNATURE): "secret value" }),
    ));
    task.poll().await.unwrap();
    task.poll().await.unwrap();

    let found = [events.with_message(UNDEFINED), events.with_message(UNLISTED_STATUS)].concat();
    assert_eq!(found.len(), 3, "{found:?}");
    let found = found.join("\n");
    assert_no_secret(&found);
    assert!(!found.contains("red fox") && !found.contains("secret value"), "{found}");
    for name in [r#""[redacted]""#, r#""for [redacted]""#, r#""x[redacted]""#, r#""echo""#] {
        assert!(found.contains(name), "{name}: {found}");
    }
}

/// Clients that are told nothing new stay silent, however many tasks wait.
#[tokio::test(start_paused = true)]
async fn many_tasks_report_a_finding_once() {
    let events = Events::capture();
    let service = ScriptedServer::start().await;
    service.otherwise(|_| Reply::json(200, &json!({ "status": "Error", "not_defined": 1 })));
    let client = client(&service);
    let waits = (0..500).map(|_| {
        let task = task(&client, &service);
        tokio::spawn(async move { task.wait().await.unwrap_err() })
    });
    for wait in waits.collect::<Vec<_>>() {
        wait.await.unwrap();
    }
    assert_eq!(events.with_message(UNDEFINED).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_follows_the_contract_causes_no_warning() {
    let events = Events::capture();
    let simulator = simulator().await;
    let client = client_of(&simulator);
    let request = || Gen2Pro::new("a red fox").width(64).height(64);
    let _picture = client.submit(request()).await.unwrap().wait().await.unwrap();
    let request = request().webhook_url("http://127.0.0.1:9/done");
    let _picture = client.submit(request).await.unwrap().wait().await.unwrap();
    let moderated = client.submit(Gen2Pro::new("a fox [[content-moderated]]")).await.unwrap();
    moderated.wait().await.unwrap_err();
    let invalid = Gen2Pro::new("a fox").width(1);
    let error = unvalidated_client_of(&simulator).submit(invalid).await.unwrap_err();
    assert_eq!(error.kind(), imagekiln::ErrorKind::Validation);

    let text = events.text();
    assert!(text.contains("submission accepted"), "{text}");
    assert_eq!(events.with_message(UNDEFINED), [""; 0]);
    let statuses = events.with_message(UNLISTED_STATUS);
    assert!(statuses.iter().all(|event| event.starts_with("INFO ")), "{statuses:?}");
}
