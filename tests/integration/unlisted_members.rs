//! Any response keeps its members: those that the contract lists, those that it does not, and those
//! with an unexpected type.

use proptest::{prelude::*, test_runner::Config};
use serde_json::{Map, Value, json};
use tokio::runtime::Builder;

use crate::{
    responses::contract,
    stored::json_values,
    support::{
        reply::Reply,
        samples::{client, fox, polling_url, task},
        scripted::ScriptedServer,
    },
};
use imagekiln::SubmissionResponse;

/// The names of unlisted members. No listed one has this prefix.
const UNLISTED: &str = "x_[a-z]{0,3}";

/// Objects of the schema with this name.
fn object(name: &str) -> BoxedStrategy<Value> {
    object_of(&contract()["components"]["schemas"][name])
}

/// Objects with the members of the schema and others.
fn object_of(schema: &Value) -> BoxedStrategy<Value> {
    let required: Vec<_> = schema["required"].as_array().cloned().unwrap_or_default();
    let member = |(name, schema): (&String, &Value)| {
        // Without a status there is no response to read.
        let is_needed = required.contains(&json!(name)) || name == "status";
        let value = if is_needed {
            listed(schema).prop_map(Some).boxed()
        } else {
            prop_oneof![
                1 => Just(None),
                1 => Just(Some(Value::Null)),
                3 => listed(schema).prop_map(Some),
                1 => json_values(UNLISTED).prop_map(Some),
            ]
            .boxed()
        };
        (Just(name.clone()), value).boxed()
    };
    let members: Vec<_> =
        schema["properties"].as_object().expect("members").iter().map(member).collect();
    (members, prop::collection::btree_map(UNLISTED, json_values(UNLISTED), 0..4))
        .prop_map(|(members, others)| {
            let members = members.into_iter().filter_map(|(name, value)| Some((name, value?)));
            Value::Object(members.chain(others).collect())
        })
        .boxed()
}

/// Values of the type that the schema has.
fn listed(schema: &Value) -> BoxedStrategy<Value> {
    let reference = schema["$ref"].as_str().or(schema["allOf"][0]["$ref"].as_str());
    match reference.and_then(|reference| reference.rsplit('/').next()) {
        Some("TaskStatus") => prop_oneof!["Ready", "Error", "Pending", "[A-Z][a-z]{0,3}"]
            .prop_map(Value::from)
            .boxed(),
        Some("Location") => {
            prop_oneof!["[a-z]{0,5}".prop_map(Value::from), any::<i64>().prop_map(Value::from)]
                .boxed()
        }
        Some(name) => object(name),
        None if schema["x-address"] == true => {
            Just(json!("https://a.example/x?signature=1")).boxed()
        }
        None => match schema["type"].as_str() {
            Some("string") => ".{1,8}".prop_map(Value::from).boxed(),
            Some("number") => {
                prop_oneof![(-1e9..1e9).prop_map(Value::from), any::<i32>().prop_map(Value::from)]
                    .boxed()
            }
            Some("array") => {
                prop::collection::vec(listed(&schema["items"]), 0..3).prop_map(Value::from).boxed()
            }
            Some("object") => object_of(schema),
            other => panic!("values of type {other:?}"),
        },
    }
}

/// The members without listed ones that mean nothing: `null`, and a list without items. Numbers are
/// all floating-point.
fn meaning(value: &Value) -> Value {
    let is_nothing = |value: &Value| value.is_null() || *value == json!([]);
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(items) => items.iter().map(meaning).collect(),
        Value::Object(members) => {
            let meant =
                members.iter().filter(|(name, value)| name.starts_with("x_") || !is_nothing(value));
            meant.map(|(name, value)| (name.clone(), meaning(value))).collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

fn config() -> Config {
    Config { failure_persistence: None, ..Config::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_response_keeps_its_members(
        accepted in object("AsyncResponse"),
        with_webhook in object("AsyncWebhookResponse"),
        polled in object("PollResult"),
        refused in object("HTTPValidationError"),
    ) {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let server = ScriptedServer::start().await;
            let client = client(&server);
            let mut accepted = accepted;
            accepted["polling_url"] = polling_url(&server, "t1").into();
            for sent in [&accepted, &with_webhook] {
                server.reply(Reply::json(200, sent));
                let request = fox().webhook_url("https://hooks.example.com/done");
                let task = client.submit(request).await.unwrap();
                let found = match task.response().unwrap() {
                    SubmissionResponse::Async(response) => serde_json::to_value(response),
                    SubmissionResponse::Webhook(response) => serde_json::to_value(response),
                    other => panic!("{other:?}"),
                };
                prop_assert_eq!(meaning(&found.unwrap()), meaning(sent));
            }
            let mut polled = polled;
            // A picture without its URL is an error.
            let url = polled["result"]["sample"].as_str().filter(|url| url.starts_with("https://"));
            if polled["status"] == "Ready" && url.is_none() {
                polled["status"] = "Pending".into();
            }
            server.reply(Reply::json(200, &polled));
            let update = task(&client, &server).poll().await.unwrap();
            let found = serde_json::to_value(update.response()).unwrap();
            prop_assert_eq!(meaning(&found), meaning(&polled));
            server.reply(Reply::json(422, &refused));
            let error = client.submit(fox()).await.unwrap_err();
            let found = serde_json::to_value(error.response()).unwrap();
            prop_assert_eq!(meaning(&found), meaning(&refused));
            Ok(())
        })?;
    }
}
