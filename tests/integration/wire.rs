//! The request of every operation on the wire: method, path, headers and body.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    requests,
    support::{received::Received, reply::Reply, samples, scripted::ScriptedServer},
};
use imagekiln::{Request, operations};

#[tokio::test]
async fn every_request_is_sent_as_expected() {
    let (minimal, full) = (requests::minimal(), requests::full());
    assert_has_every_submission(&minimal);
    assert_has_every_submission(&full);
    for (minimal, full) in minimal.into_iter().zip(full) {
        let operation = minimal.operation();
        let shown = format!("{}\n\n{}", sent(minimal).await, sent(full).await);
        let name = operation.name.replace(['/', '{', '}'], "_");
        let settings = {
            let mut settings = insta::Settings::clone_current();
            settings.set_snapshot_suffix(name);
            settings.set_omit_expression(true);
            settings.set_prepend_module_to_snapshot(false);
            settings
        };
        settings.bind(|| insta::assert_snapshot!("request", shown));
    }
}

/// A full request without a field of the contract would make its snapshot incomplete.
#[tokio::test]
async fn full_requests_have_every_field_of_the_contract() {
    for request in requests::full() {
        let operation = request.operation();
        let body = received(request).await.json();
        for field in operation.fields {
            assert!(body.get(field.name).is_some(), "{operation} was sent without {}", field.name);
        }
    }
}

fn assert_has_every_submission(requests: &[Request]) {
    let names: Vec<_> = requests.iter().map(|request| request.operation().name).collect();
    let expected: Vec<_> = operations()
        .iter()
        .filter(|operation| operation.submits)
        .map(|operation| operation.name)
        .collect();
    assert_eq!(names, expected);
}

async fn received(request: Request) -> Received {
    let server = ScriptedServer::start().await;
    server.reply(Reply::json(
        200,
        &json!({ "id": "t1", "polling_url": server.url("/v1/get_result?id=t1") }),
    ));
    let client =
        samples::builder(&server).regional_base_url(server.url("/regional")).build().unwrap();
    let _ = client.submit(request).await.unwrap();
    server.only_request()
}

async fn sent(request: Request) -> String {
    let received = received(request).await;
    let headers: Vec<String> = received
        .headers
        .iter()
        .filter(|(name, _)| !["host", "user-agent"].contains(&name.as_str()))
        .map(|(name, value)| {
            format!("{name}: {}", if name == "x-key" { "[the key]" } else { value })
        })
        .collect();
    // Sorted, because the order of serde_json maps depends on features that other crates enable.
    let mut body: BTreeMap<String, Value> = serde_json::from_value(received.json()).unwrap();
    body.values_mut().for_each(shorten);
    let body = serde_json::to_string_pretty(&body).unwrap();
    format!("{} {}\n{}\n{body}", received.method, received.target, headers.join("\n"))
}

/// Replaces the base64 of a picture.
fn shorten(value: &mut Value) {
    if let Some(text) = value.as_str().filter(|text| text.starts_with("iVBOR")) {
        *value = format!("[a PNG, {} characters of base64]", text.len()).into();
    }
}
