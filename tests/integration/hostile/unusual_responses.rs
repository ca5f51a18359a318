//! Success responses to a submission in forms that the contract does not define.

use serde_json::{Value, json};

use crate::support::{
    reply::Reply,
    samples::{self, KEY, assert_billing, client, fox, ready},
    scripted::ScriptedServer,
};
use imagekiln::{Billing, ErrorKind, types};

#[tokio::test(start_paused = true)]
async fn responses_without_a_task_are_unknown() {
    for reply in [
        Reply::html(200),
        Reply::status(200),
        Reply::status(204),
        Reply::json(200, &Value::Null),
        Reply::json(200, &json!([])),
        Reply::json(200, &json!({ "id": "" })),
        Reply::json(200, &json!({ "detail": KEY })),
        Reply::status(200).body(b"{\"id\":\"t1"),
        Reply::status(200).body(b"{\"id\":t1}"),
        Reply::status(200).body([0xff, 0xfe, 0x00]),
        Reply::status(200).body(vec![b' '; 5_000_000]),
    ] {
        let service = ScriptedServer::start().await;
        service.reply(reply.header("X-Request-Id", "r-9"));

        let error = client(&service).submit(fox()).await.unwrap_err();

        assert_billing(&error, ErrorKind::Response, Billing::Unknown);
        assert!(error.to_string().contains("did not send it again"), "{error}");
        service.only_request().assert_has_key();
    }
}

#[tokio::test(start_paused = true)]
async fn unusual_responses_with_a_task_are_accepted() {
    for (id, body) in [
        ("t1", json!({ "id": "t1" })),
        ("t1", json!({ "id": "t1", "polling_url": null, "status": 3 })),
        ("t1", json!({ "id": "t1", "polling_url": 7, "cost": "4" })),
        ("t1", json!({ "id": "t1", "polling_url": "" })),
        ("t1", json!({ "id": "t1", "polling_url": "http://[half" })),
        ("77", json!({ "id": 77, "cost": 4 })),
        ("a b&c/\u{e9}", json!({ "id": "a b&c/\u{e9}" })),
    ] {
        let service = ScriptedServer::start().await;
        service.reply(Reply::json(200, &body)).reply(ready(&service));

        let task = client(&service).submit(fox()).await.unwrap();
        let _ = task.wait().await.unwrap();

        assert_eq!(task.id(), id, "{body}");
        let poll = &service.polls()[0];
        let url = url::Url::parse(&service.url(&poll.target)).unwrap();
        assert_eq!((url.path(), polled_id(&url)), ("/v1/get_result", id.to_owned()), "{body}");
        service.assert_every_request_has_the_key();
    }
}

#[tokio::test(start_paused = true)]
async fn every_success_code_is_a_success() {
    for status in [201, 202, 203] {
        let service = ScriptedServer::start().await;
        let body =
            json!({ "id": "t1", "polling_url": samples::polling_url(&service, "t1"), "cost": 2.5 });
        service.reply(Reply::json(status, &body));

        let task = client(&service).submit(fox()).await.unwrap();

        assert_eq!((task.id(), task.cost()), ("t1", Some(2.5)));
        service.only_request().assert_has_key();
    }
}

#[tokio::test(start_paused = true)]
async fn older_forms_of_http_are_read() {
    for head in [
        "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n\
         HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Accepted\r\nConnection: close\r\n\r\n",
        "HTTP/1.0 200 OK\r\n\r\n",
        "HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n",
    ] {
        let service = ScriptedServer::start().await;
        let body = json!({ "id": "t1", "polling_url": "/p" }).to_string();
        let body = if head.contains("chunked") {
            format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len())
        } else {
            body
        };
        service.reply(Reply::nothing().body(format!("{head}{body}")).then_close());

        assert_eq!(client(&service).submit(fox()).await.unwrap().id(), "t1", "{head}");

        service.only_request().assert_has_key();
    }
}

/// The schema `AsyncWebhookResponse` of the contract has no polling URL.
fn webhook_reply() -> Reply {
    let body = json!({
        "id": "w 1",
        "status": "Pending",
        "webhook_url": "https://hooks.example.com/done",
        "cost": 4,
    });
    Reply::json(200, &body)
}

#[tokio::test(start_paused = true)]
async fn a_task_with_a_webhook_is_polled_at_the_base_url() {
    let service = ScriptedServer::start().await;
    service.reply(webhook_reply()).reply(ready(&service));
    let client = samples::builder(&service).base_url(service.url("/api/")).build().unwrap();
    let request =
        fox().webhook_url("https://hooks.example.com/done").webhook_secret(samples::WEBHOOK_SECRET);

    let task = client.submit(request).await.unwrap();
    let _ = task.wait().await.unwrap();

    assert_eq!(task.cost(), Some(4.0));
    let received = service.received();
    assert_eq!(received[0].json()["webhook_secret"], samples::WEBHOOK_SECRET);
    assert_eq!(received[0].target, "/api/v1/gen-2-pro");
    assert_eq!(received[1].target, "/api/v1/get_result?id=w+1");
    service.assert_every_request_has_the_key();
}

#[tokio::test(start_paused = true)]
#[expect(deprecated, reason = "deprecated operations still work")]
async fn a_regional_task_with_a_webhook_is_polled_at_the_regional_base_url() {
    let (service, region) = (ScriptedServer::start().await, ScriptedServer::start().await);
    region.reply(webhook_reply()).reply(ready(&region));
    let client = samples::builder(&service).regional_base_url(region.url("")).build().unwrap();

    let task = client.submit(types::GenPro11UltraFinetuned::new("my-lora")).await.unwrap();
    let _ = task.wait().await.unwrap();

    let received = region.received();
    assert_eq!(received[0].target, "/v1/gen-pro-1.1-ultra-finetuned");
    assert_eq!(received[1].target, "/v1/get_result?id=w+1");
    region.assert_every_request_has_the_key();
    service.assert_received_nothing();
}

fn polled_id(url: &url::Url) -> String {
    url.query_pairs()
        .find(|(name, _)| name == "id")
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}
