//! The request of every operation on the wire: method, path, headers and body.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    requests::{self, full_body, minimal_body, png, submissions},
    support::{received::Received, reply::Reply, samples, scripted::ScriptedServer},
};
use imagekiln::{ImageInput, Region, Request, Submit, types::*};

#[tokio::test]
async fn every_request_is_sent_with_the_values_that_were_set() {
    for operation in submissions() {
        for body in [minimal_body(operation), full_body(operation)] {
            let received = received(requests::request(operation, &body)).await;

            let mut path = operation.path.to_owned();
            for parameter in operation.path_parameters {
                path = path.replace(&format!("{{{}}}", parameter.name), parameter.example);
            }
            let region = if operation.region == Region::Regional { "/regional" } else { "" };
            assert_eq!(
                (received.method.as_str(), received.target.as_str()),
                ("POST", format!("{region}{path}").as_str())
            );
            assert_eq!(received.json(), Value::Object(body), "{operation}");
            let names: Vec<_> = received.headers.iter().map(|(name, _)| name.as_str()).collect();
            for name in ["content-type", "x-key", "accept", "content-length"] {
                assert!(names.contains(&name), "{operation} was sent without {name}");
            }
        }
    }
}

/// The setters that people call, and the values that they send.
#[tokio::test]
async fn typed_requests_are_sent_as_expected() {
    let hook = "https://hooks.example.com/kiln?token=t";
    let image = || ImageInput::bytes(png(8, 6, 90));
    let requests = [
        Gen2Pro::new("a fox")
            .disable_pup(true)
            .input_image(image())
            .input_image_2(ImageInput::url("https://example.com/fox.png"))
            .seed(7)
            .width(1024)
            .height(768)
            .safety_tolerance(5)
            .output_format(OutputFormat::Webp)
            .webhook_url(hook)
            .webhook_secret("whsec")
            .extra("a_field_of_tomorrow", json!({ "deep": [1, null] }))
            .into_request(),
        GenPro10Fill::new().image(image()).mask(png(8, 6, 255)).guidance(60).into_request(),
        GenKontextPro::new().aspect_ratio((16, 9)).into_request(),
        Gen3Video::new().mode("t2v").extra("prompt", "a fox runs").into_request(),
        BaseModelFinetuned::new("gen-2-klein-9b-kv").finetune_id("fox-style").into_request(),
    ];
    let mut shown = Vec::new();
    for request in requests {
        shown.push(sent(request).await);
    }
    insta::assert_snapshot!(shown.join("\n\n"));
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
