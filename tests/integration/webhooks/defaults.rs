//! The webhook settings that a client adds to its requests.

use serde_json::{Value, json};

use crate::support::{
    child,
    reply::Reply,
    samples::{self, KEY, WEBHOOK_SECRET, assert_kind, assert_no_secret, served_with},
    scripted::ScriptedServer,
};
use imagekiln::{
    Client, ClientBuilder, ErrorKind, Request, Submit, find_operation,
    types::{Gen2Flex, Gen2Pro},
};

const URL: &str = "https://example.com/hook?token=hidden-token";

fn defaults(service: &ScriptedServer) -> ClientBuilder {
    samples::builder(service).webhook_url(URL).webhook_secret(WEBHOOK_SECRET)
}

/// Returns `webhook_url` and `webhook_secret` of a request as sent.
async fn sent(service: &ScriptedServer, client: &Client, request: impl Submit) -> [Value; 2] {
    service.reply(samples::accepted(service, "t1"));
    let _ = client.submit(request).await.unwrap();
    let body = service.posts().pop().unwrap().json();
    ["webhook_url", "webhook_secret"].map(|name| body[name].clone())
}

#[tokio::test]
async fn webhook_defaults_are_sent_unless_the_request_sets_them() {
    let service = ScriptedServer::start().await;
    let client = defaults(&service).build().unwrap();
    let own = "https://example.org/own";
    assert_eq!(
        sent(&service, &client, Gen2Pro::new("a fox")).await,
        [json!(URL), json!(WEBHOOK_SECRET)]
    );
    assert_eq!(
        sent(&service, &client, Gen2Pro::new("a fox").webhook_url(own)).await,
        [json!(own), json!(WEBHOOK_SECRET)]
    );
    assert_eq!(
        sent(&service, &client, Gen2Flex::new("a fox").webhook_secret("own")).await,
        [json!(URL), json!("own")]
    );
    let request = Request::new(find_operation("gen-2-pro").unwrap()).field("prompt", "a fox");
    assert_eq!(
        sent(&service, &client, request.clone()).await,
        [json!(URL), json!(WEBHOOK_SECRET)],
        "a request built at run time"
    );
    assert_eq!(
        sent(&service, &client, request.field("webhook_url", ())).await,
        [Value::Null, Value::Null],
        "an explicit null requests no webhook"
    );
}

#[tokio::test]
async fn a_secret_without_a_url_is_not_sent() {
    let (service, client) = served_with(|builder| builder.webhook_secret(WEBHOOK_SECRET)).await;
    assert_eq!(sent(&service, &client, Gen2Pro::new("a fox")).await, [Value::Null, Value::Null]);
    assert!(!service.posts()[0].contains(WEBHOOK_SECRET));
}

#[tokio::test]
async fn webhook_defaults_are_not_printed_in_errors() {
    let service = ScriptedServer::start().await;
    let builder = defaults(&service);
    let shown = format!("{builder:?} {:?}", builder.clone().build().unwrap());
    assert_no_secret(&shown);
    assert!(!shown.contains("hidden-token"), "{shown}");
    let echo = json!({ "detail": format!("cannot reach {URL} with {WEBHOOK_SECRET}") });
    service.reply(Reply::json(422, &echo));
    let error = builder.build().unwrap().submit(Gen2Pro::new("a fox")).await.unwrap_err();
    assert_kind(&error, ErrorKind::Validation);
    assert!(!format!("{error} {error:?}").contains("hidden-token"), "{error}");
}

#[test]
fn an_invalid_webhook_url_is_an_error() {
    for url in ["", "not a URL", "ftp://example.com/hook", "mailto:a@example.com", "https://"] {
        let error = imagekiln::Client::builder()
            .api_key(KEY)
            .base_url("https://api.example.com")
            .webhook_url(url)
            .build()
            .unwrap_err();
        assert_kind(&error, ErrorKind::Settings);
    }
    let long = format!("https://example.com/{}", "a".repeat(2083 - "https://example.com/".len()));
    let builder = imagekiln::Client::builder().api_key(KEY).base_url("https://api.example.com");
    assert!(builder.clone().webhook_url(long.as_str()).build().is_ok());
    assert!(builder.webhook_url(long + "a").build().is_err());
}

#[tokio::test]
async fn webhook_defaults_are_read_from_the_environment() {
    if !child::is_child() {
        let service = ScriptedServer::start().await;
        let variables = [
            ("IMAGEKILN_API_KEY", KEY),
            ("IMAGEKILN_BASE_URL", &service.url("")),
            ("IMAGEKILN_WEBHOOK_URL", URL),
            ("IMAGEKILN_WEBHOOK_SECRET", WEBHOOK_SECRET),
        ];
        return child::run(
            "webhooks::defaults::webhook_defaults_are_read_from_the_environment",
            &variables,
        );
    }
    let service = ScriptedServer::start().await;
    let client = ClientBuilder::from_env().unwrap().base_url(service.url("")).build().unwrap();
    assert_eq!(
        sent(&service, &client, Gen2Pro::new("a fox")).await,
        [json!(URL), json!(WEBHOOK_SECRET)]
    );
}
