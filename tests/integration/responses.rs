//! Every field of every response that the contract defines is accessible through the public API.

use futures_util::TryStreamExt;
use serde_json::{Map, Value, json};

use crate::support::{
    reply::Reply,
    samples::{client, fox, polling_url, task},
    scripted::ScriptedServer,
};
use imagekiln::{Error, SubmissionResponse, WaitOptions, types::*};

pub fn contract() -> Value {
    serde_json::from_str(include_str!("../../openapi.json")).unwrap()
}

/// Returns an object with every field of the schema and one undefined field.
fn complete(contract: &Value, name: &str) -> Value {
    let properties = contract["components"]["schemas"][name]["properties"].as_object().unwrap();
    assert!(!properties.is_empty(), "{name} has no fields");
    let fields = properties.iter().map(|(field, schema)| (field.clone(), value(contract, schema)));
    let mut object: Map<String, Value> = fields.collect();
    object.insert("not_defined".to_owned(), json!({ "of": name }));
    Value::Object(object)
}

fn value(contract: &Value, schema: &Value) -> Value {
    let reference = schema["$ref"].as_str().or(schema["allOf"][0]["$ref"].as_str());
    if let Some(reference) = reference {
        let name = reference.rsplit('/').next().unwrap();
        let target = &contract["components"]["schemas"][name];
        return if target["properties"].is_object() {
            complete(contract, name)
        } else {
            value(contract, target)
        };
    }
    if let Some(first) = schema["oneOf"].as_array().and_then(|parts| parts.first()) {
        return value(contract, first);
    }
    match schema["type"].as_str().unwrap_or_else(|| panic!("a type: {schema}")) {
        "string" if schema["enum"].is_array() => schema["enum"][0].clone(),
        "string" if schema["x-success"].is_array() => schema["x-success"][0].clone(),
        "string" if schema["x-address"].is_boolean() || schema["format"] == "uri" => {
            json!("http://127.0.0.1:9/a?b=c")
        }
        "string" => json!("text"),
        "number" => json!(1.25),
        "integer" => json!(7),
        "boolean" => json!(true),
        "array" => json!([value(contract, &schema["items"])]),
        "object" => {
            let properties = schema["properties"].as_object().unwrap();
            properties.iter().map(|(name, field)| (name.clone(), value(contract, field))).collect()
        }
        other => panic!("a value of type {other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn every_field_of_a_submission_response_is_accessible() {
    let contract = contract();
    let server = ScriptedServer::start().await;
    let mut expected = complete(&contract, "AsyncResponse");
    expected["polling_url"] = json!(polling_url(&server, "t1"));
    server.reply(Reply::json(200, &expected));
    let task = client(&server).submit(fox()).await.unwrap();
    let Some(SubmissionResponse::Async(found)) = task.response() else {
        panic!("{:?}", task.response())
    };
    assert_eq!(serde_json::to_value(found).unwrap(), expected);
    assert_eq!((task.cost(), found.input_mp), (Some(1.25), Some(1.25)));

    let expected = complete(&contract, "AsyncWebhookResponse");
    server.reply(Reply::json(200, &expected));
    let request = fox().webhook_url("https://hooks.example.com/done");
    let task = client(&server).submit(request).await.unwrap();
    let Some(SubmissionResponse::Webhook(found)) = task.response() else {
        panic!("{:?}", task.response())
    };
    assert_eq!(serde_json::to_value(found).unwrap(), expected);
    assert_eq!((task.cost(), found.output_mp), (Some(1.25), Some(1.25)));
    assert_eq!(client(&server).task(task.reference().clone()).response(), None);
}

#[tokio::test(start_paused = true)]
async fn every_field_of_a_poll_response_is_accessible() {
    let server = ScriptedServer::start().await;
    let expected = complete(&contract(), "PollResult");
    assert_eq!(expected["status"], "Ready", "{expected}");
    server.reply(Reply::json(200, &expected));
    let update = task(&client(&server), &server).poll().await.unwrap();
    assert_eq!(serde_json::to_value(update.response()).unwrap(), expected);
    let result: &TaskResult = update.response().result.as_ref().unwrap();
    assert_eq!(result.extra["not_defined"], json!({ "of": "TaskResult" }));
    assert_eq!(update.response().extra["not_defined"], json!({ "of": "PollResult" }));
}

#[tokio::test(start_paused = true)]
async fn every_field_of_a_validation_error_is_accessible() {
    let server = ScriptedServer::start().await;
    let expected = complete(&contract(), "HTTPValidationError");
    server.reply(Reply::json(422, &expected));
    let error: Error = client(&server).submit(fox()).await.unwrap_err();
    let found: &HttpValidationError = error.response().unwrap();
    assert_eq!(serde_json::to_value(found).unwrap(), expected);
    let [violation] = error.violations() else { panic!("{error}") };
    assert_eq!(violation.extra["not_defined"], json!({ "of": "ValidationError" }));
}

/// The reason may have a different form than the contract's.
#[tokio::test(start_paused = true)]
async fn every_field_of_an_unusual_validation_error_is_accessible() {
    let server = ScriptedServer::start().await;
    for expected in [json!({ "detail": "no", "not_defined": 1 }), json!({ "not_defined": [1] })] {
        server.reply(Reply::json(422, &expected));
        let error = client(&server).submit(fox()).await.unwrap_err();
        assert_eq!(serde_json::to_value(error.response().unwrap()).unwrap(), expected);
    }
    server.reply(Reply::json(402, &json!({ "detail": "no", "not_defined": 1 })));
    let error = client(&server).submit(fox()).await.unwrap_err();
    assert_eq!(error.response(), None);
}

#[tokio::test(start_paused = true)]
async fn changes_omit_equal_updates() {
    let server = ScriptedServer::start().await;
    for (status, progress) in [
        ("Pending", 0.0),
        ("Pending", 0.0),
        ("Pending", 0.5),
        ("Pending", 0.5),
        ("Running", 0.5),
        ("Error", 0.5),
    ] {
        let polled = json!({ "id": "t1", "status": status, "not_defined": progress });
        server.reply(Reply::json(200, &polled));
    }
    let updates = task(&client(&server), &server).updates(WaitOptions::default());
    let changes: Vec<_> = updates.changes().try_collect().await.unwrap();
    let seen: Vec<_> = changes
        .iter()
        .map(|update| (update.status().as_str(), update.response().extra["not_defined"].as_f64()))
        .collect();
    let half = Some(0.5);
    assert_eq!(
        seen,
        [("Pending", Some(0.0)), ("Pending", half), ("Running", half), ("Error", half)]
    );
    assert_eq!(server.polls().len(), 6);
}
