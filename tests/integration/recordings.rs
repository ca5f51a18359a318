//! Recordings: what they contain, and what they never contain.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::{
    reply::Reply,
    samples::{
        self, KEY, PNG, WEBHOOK_SECRET, accepted, assert_no_secret, builder, fox, polling_url, task,
    },
    scripted::ScriptedServer,
};
use imagekiln::{
    AspectRatio, Client, ImageInput, Submit,
    recording::{RecordedBody, Recording},
    types::{BaseModelFinetuned, GenKontextPro, GenPro10Fill},
};

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<Recording>>>);

impl Kept {
    fn recorder(&self) -> impl Fn(Recording) + use<> {
        let kept = Arc::clone(&self.0);
        move |recording| kept.lock().unwrap().push(recording)
    }

    fn json(&self) -> Vec<Value> {
        let kept = self.0.lock().unwrap();
        kept.iter().map(|recording| serde_json::to_value(recording).unwrap()).collect()
    }
}

async fn recorded() -> (ScriptedServer, Client, Kept) {
    let service = ScriptedServer::start().await;
    let kept = Kept::default();
    let client = builder(&service).recorder(kept.recorder()).validation(false).build().unwrap();
    (service, client, kept)
}

/// Submits once, and returns the recorded request.
async fn request_of(request: impl Submit) -> Value {
    let (service, client, kept) = recorded().await;
    service.reply(accepted(&service, "t1"));
    let _task = client.submit(request).await.unwrap();
    kept.json()[0]["request"]["json"].clone()
}

/// Polls once, and returns the recorded response.
async fn response_of(reply: Reply) -> Value {
    let (service, client, kept) = recorded().await;
    service.reply(reply);
    // Some of the responses fail the poll.
    let _ = task(&client, &service).poll().await;
    kept.json()[0]["response"].clone()
}

#[tokio::test(start_paused = true)]
async fn each_response_is_recorded_with_its_request() {
    let (service, client, kept) = recorded().await;
    service
        .reply(Reply::json(429, &json!({ "detail": "slow down" })))
        .reply(accepted(&service, "t1"))
        .reply(samples::ready(&service))
        .reply(Reply::png(PNG));
    let request = fox().width(64).seed(7);
    client.submit(request).await.unwrap().wait().await.unwrap().bytes().await.unwrap();

    let body = json!({ "json": { "prompt": "[text, 21 characters]", "width": 64, "seed": 7 } });
    let submission = json!({
        "purpose": "submission",
        "operation": "gen-2-pro",
        "recorded_at": 1_800_000_000,
        "method": "POST",
        "path": "/v1/gen-2-pro",
        "status": 429,
        "request": body,
        "response": { "json": { "detail": "[text, 9 characters]" } },
    });
    let mut retried = submission.clone();
    retried["status"] = json!(200);
    let url = service.url("/poll/t1?[redacted]");
    retried["response"] = json!({ "json": { "id": "t1", "polling_url": url, "cost": 4 } });
    let sample = service.url("/fox.png?[redacted]");
    let poll = json!({
        "purpose": "poll",
        "operation": "gen-2-pro",
        // The first poll is not sent immediately.
        "recorded_at": 1_800_000_001,
        "method": "GET",
        "path": "/poll/t1",
        "status": 200,
        "request": null,
        "response": { "json": { "id": "t1", "status": "Ready", "result": { "sample": sample } } },
    });
    assert_eq!(kept.json(), [submission, retried, poll]);
    let json = kept.json();
    for (recording, value) in kept.0.lock().unwrap().iter().zip(json) {
        assert_eq!(serde_json::from_value::<Recording>(value).unwrap(), *recording);
    }
}

#[tokio::test(start_paused = true)]
async fn images_are_described() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("private-name.png");
    std::fs::write(&path, PNG).unwrap();
    let base64 = ImageInput::base64("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ");
    let request = fox()
        .input_image(PNG.to_vec())
        .input_image_2(path)
        .input_image_3("https://u:p@images.example.com/a.png?signature=secret#part")
        .input_image_4(base64)
        .into_request();
    let recorded = request_of(request.image("unlisted", PNG.to_vec())).await;
    assert_eq!(
        recorded,
        json!({
            "prompt": "[text, 21 characters]",
            "input_image": "[image/png, 70 bytes]",
            "input_image_2": "[image from a file]",
            "input_image_3": "https://images.example.com/a.png?[redacted]",
            "input_image_4": "[base64, 44 characters]",
            "unlisted": "[image/png, 70 bytes]",
        })
    );
}

#[tokio::test(start_paused = true)]
async fn text_is_replaced_and_everything_else_is_kept() {
    let request = GenKontextPro::new()
        .prompt("a red fox in the snow")
        .aspect_ratio("16:9".parse::<AspectRatio>().unwrap())
        .output_format(imagekiln::types::OutputFormat::Webp)
        .webhook_url("https://hooks.example.com/done?token=1")
        .webhook_secret(WEBHOOK_SECRET)
        .extra("numbers", json!([1, 2.5, true, null]))
        .extra("nested", json!({ "text": "a private text", "Api_Token": 7, "url": "http://a b" }))
        .extra("link", "https://example.com/page?user=me")
        .extra("echo", KEY);
    let recorded = request_of(request).await;
    assert_eq!(
        recorded,
        json!({
            "prompt": "[text, 21 characters]",
            "aspect_ratio": "16:9",
            "output_format": "webp",
            "webhook_url": "https://hooks.example.com/done?[redacted]",
            "webhook_secret": "[redacted]",
            "numbers": [1, 2.5, true, null],
            "nested": {
                "text": "[text, 14 characters]",
                "Api_Token": "[redacted]",
                "url": "[text, 10 characters]",
            },
            "link": "https://example.com/page?[redacted]",
            "echo": "[text, 19 characters]",
        })
    );
    let unlisted = GenKontextPro::new()
        .prompt("a fox")
        .extra("output_format", "a private text")
        .extra("aspect_ratio", "private");
    let recorded = request_of(unlisted).await;
    assert_eq!(recorded["output_format"], "[text, 14 characters]");
    assert_eq!(recorded["aspect_ratio"], "[text, 7 characters]");
}

#[tokio::test(start_paused = true)]
async fn responses_are_recorded_as_they_arrived() {
    let wrapped = json!([{
        "status": "Error",
        "not_defined": 0.5,
        "not_defined_either": "the prompt",
        "id": 7,
    }]);
    let found = response_of(Reply::json(200, &wrapped)).await;
    let expected = json!({
        "status": "Error",
        "not_defined": 0.5,
        "not_defined_either": "[text, 10 characters]",
        "id": 7,
    });
    assert_eq!(found, json!({ "json": [expected] }));
    let text = json!({ "id": "t1", "status": "Error" }).to_string();
    let length = text.chars().count();
    let found = response_of(Reply::json(200, &json!(text))).await;
    assert_eq!(found, json!({ "json": format!("[text, {length} characters]") }));

    assert_eq!(response_of(Reply::status(403)).await, "empty");
    assert_eq!(response_of(Reply::html(200)).await, "not_json");
    assert_eq!(response_of(Reply::status(200).body("{\"id\": \"t1\",")).await, "not_json");
    let incomplete = Reply::status(200).body("{\"id\":").declaring_length(100).then_close();
    assert_eq!(response_of(incomplete).await, "incomplete");
    let large = json!({ "status": "Error", "numbers": vec![1_000_000; 40_000] });
    assert_eq!(response_of(Reply::json(200, &large)).await, "too_large");
    let endless = Reply::status(200).body(" ".repeat(5 * 1024 * 1024));
    assert_eq!(response_of(endless).await, "too_large");
}

#[tokio::test(start_paused = true)]
async fn a_large_request_is_not_recorded() {
    let (service, client, kept) = recorded().await;
    service.reply(accepted(&service, "t1"));
    let request = fox().extra("numbers", json!(vec![1_000_000; 40_000]));
    let _task = client.submit(request).await.unwrap();
    assert_eq!(kept.0.lock().unwrap()[0].request, Some(RecordedBody::TooLarge));
}

#[tokio::test(start_paused = true)]
async fn recordings_contain_neither_secrets_nor_private_text() {
    let (service, client, kept) = recorded().await;
    let echo = json!({
        "id": "t1",
        "polling_url": polling_url(&service, "t1"),
        "type": format!("{KEY} {WEBHOOK_SECRET}"),
        "webhook_secret": WEBHOOK_SECRET,
        KEY: "a red fox in the snow",
        "status": "x".repeat(500),
        "image": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
    });
    let violation = json!({ "loc": ["body", KEY], "msg": "a red fox", "type": "missing" });
    service
        .reply(Reply::json(200, &echo))
        .reply(Reply::json(422, &json!({ "detail": [violation] })))
        .reply(samples::ready(&service));
    let request = || fox().webhook_url("https://hooks.example.com/").webhook_secret(WEBHOOK_SECRET);
    let task = client.submit(request()).await.unwrap();
    client.submit(request()).await.unwrap_err();
    let _picture = task.wait().await.unwrap();

    let found = kept.json();
    assert_eq!(found.len(), 3);
    let violation = &found[1]["response"]["json"]["detail"][0];
    assert_eq!(violation["loc"], json!(["body", "[redacted]"]));
    assert_eq!(violation["type"], "missing");
    let text = json!(found).to_string();
    assert_no_secret(&text);
    for private in ["red fox", "iVBOR", "xxx"] {
        assert!(!text.contains(private), "{private}: {text}");
    }
    assert!(!format!("{:?}", kept.0.lock().unwrap()).contains("red fox"));
}

#[tokio::test(start_paused = true)]
async fn the_path_is_recorded_as_sent() {
    let service = ScriptedServer::start().await;
    let kept = Kept::default();
    let base = service.url("/proxy");
    let settings = builder(&service).base_url(base).regional_base_url(service.url(""));
    let client = settings.model_prefix("xyz").recorder(kept.recorder()).build().unwrap();
    service.reply(accepted(&service, "t1")).reply(accepted(&service, "t2"));
    let finetuned = BaseModelFinetuned::new("gen-2-klein-9b-kv").extra("prompt", "a fox");
    let _task = client.submit(finetuned).await.unwrap();
    let fill = GenPro10Fill::new().image(PNG.to_vec()).prompt("a fox");
    let _task = client.submit(fill).await.unwrap();
    let recorded: Vec<_> = kept.0.lock().unwrap().iter().map(|kept| kept.path.clone()).collect();
    let sent: Vec<_> = service.posts().into_iter().map(|request| request.target).collect();
    assert_eq!(recorded, sent);
    assert!(recorded[0].contains("xyz-2-klein-9b-kv-finetuned"), "{recorded:?}");
}

#[tokio::test(start_paused = true)]
async fn a_recorder_that_panics_loses_no_task() {
    let service = ScriptedServer::start().await;
    let client = builder(&service).recorder(|_| panic!("a full disk")).build().unwrap();
    service.reply(accepted(&service, "t1")).reply(samples::status("Error"));
    let task = client.submit(fox()).await.unwrap();
    assert_eq!(task.poll().await.unwrap().status().as_str(), "Error");
}
