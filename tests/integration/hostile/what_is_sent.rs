//! The requests that are sent, and their content.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::support::{
    received::Received,
    samples::{self, PNG, WEBHOOK_SECRET, assert_kind, client, fox},
    scripted::ScriptedServer,
};
use imagekiln::{
    AspectRatio, Billing, ErrorKind, Request, find_operation,
    types::{self, BaseModelFinetuned, Gen2Pro, GenPro11Ultra, GenToolsDeblurV1},
};

async fn sent(request: impl imagekiln::Submit) -> Received {
    let service = ScriptedServer::start().await;
    service.reply(samples::accepted(&service, "t1"));
    let _ = client(&service).submit(request).await.unwrap();
    service.only_request()
}

#[tokio::test(start_paused = true)]
async fn only_required_fields_and_no_defaults_are_sent() {
    let post = sent(fox()).await;

    assert_eq!((post.method.as_str(), post.target.as_str()), ("POST", "/v1/gen-2-pro"));
    assert_eq!(post.body, br#"{"prompt":"a red fox in the snow"}"#);
    let mut names: Vec<_> = post.headers.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["accept", "content-length", "content-type", "host", "user-agent", "x-key"]);
    assert_eq!(post.header("content-type"), Some("application/json"));
    post.assert_has_key();

    assert_eq!(sent(GenPro11Ultra::new()).await.body, b"{}");
}

#[tokio::test(start_paused = true)]
async fn every_field_that_is_set_is_sent() {
    let request = Gen2Pro::new("")
        .disable_pup(true)
        .input_image(PNG.to_vec())
        .seed(-1)
        .width(64)
        .height(8192)
        .safety_tolerance(0)
        .output_format(imagekiln::types::OutputFormat::Webp)
        .webhook_url("https://hooks.example.com/done?a=1")
        .webhook_secret(WEBHOOK_SECRET);

    let post = sent(request).await;

    let expected = json!({
        "prompt": "",
        "disable_pup": true,
        "input_image": STANDARD.encode(PNG),
        "seed": -1,
        "width": 64,
        "height": 8192,
        "safety_tolerance": 0,
        "output_format": "webp",
        "webhook_url": "https://hooks.example.com/done?a=1",
        "webhook_secret": WEBHOOK_SECRET,
    });
    assert_eq!(post.json(), expected);
    assert_eq!(
        sent(GenPro11Ultra::new().aspect_ratio(AspectRatio::from((21, 9)))).await.json(),
        json!({ "aspect_ratio": "21:9" })
    );
}

#[tokio::test(start_paused = true)]
async fn an_explicit_null_and_an_undefined_field_are_sent() {
    let post = sent(fox().extra("seed", Value::Null).extra("new_in_v2", json!({ "a": [1] }))).await;

    let expected =
        json!({ "prompt": "a red fox in the snow", "seed": null, "new_in_v2": { "a": [1] } });
    assert_eq!(post.json(), expected);
    post.assert_has_key();
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_if_a_field_is_set_twice() {
    let service = ScriptedServer::start().await;

    let error =
        client(&service).submit(fox().seed(7).extra("seed", Value::Null)).await.unwrap_err();

    assert_kind(&error, ErrorKind::Validation);
    assert_eq!(error.violations()[0].field(), Some("seed"));
    service.assert_received_nothing();
}

/// Even without validation, a JSON key is never written twice.
#[tokio::test(start_paused = true)]
async fn a_field_that_is_set_twice_is_never_sent() {
    let service = ScriptedServer::start().await;
    let client = samples::builder(&service).validation(false).build().unwrap();

    let error = client.submit(fox().seed(7).extra("seed", 8)).await.unwrap_err();

    assert_kind(&error, ErrorKind::Validation);
    service.assert_received_nothing();
}

#[tokio::test(start_paused = true)]
async fn invalid_requests_are_not_sent() {
    let service = ScriptedServer::start().await;
    let request = fox().width(63).safety_tolerance(6).webhook_url("not a URL");

    let error = client(&service).submit(request).await.unwrap_err();

    assert_kind(&error, ErrorKind::Validation);
    assert_ne!(error.billing(), Billing::Unknown);
    let fields: Vec<_> =
        error.violations().iter().filter_map(|violation| violation.field()).collect();
    assert_eq!(fields, ["width", "safety_tolerance", "webhook_url"]);
    service.assert_received_nothing();
}

#[tokio::test(start_paused = true)]
async fn invalid_requests_are_sent_if_validation_is_off() {
    let service = ScriptedServer::start().await;
    service.reply(samples::accepted(&service, "t1"));
    let client = samples::builder(&service).validation(false).build().unwrap();

    let _ = client.submit(fox().width(63).safety_tolerance(6)).await.unwrap();

    let expected = json!({ "prompt": "a red fox in the snow", "width": 63, "safety_tolerance": 6 });
    assert_eq!(service.only_request().json(), expected);
}

#[tokio::test(start_paused = true)]
async fn the_model_prefix_is_applied() {
    let service = ScriptedServer::start().await;
    let client = samples::builder(&service)
        .model_prefix("xyz")
        .base_url(service.url("/gen-x/"))
        .build()
        .unwrap();
    (0..3).for_each(|_| {
        service.reply(samples::accepted(&service, "t1"));
    });

    let _ = client.submit(fox()).await.unwrap();
    let _ = client.submit(GenToolsDeblurV1::new(PNG.to_vec())).await.unwrap();
    let _ = client
        .submit(BaseModelFinetuned::new("gen-2-klein-9b-kv").extra("prompt", "p"))
        .await
        .unwrap();

    let targets: Vec<_> = service.posts().into_iter().map(|post| post.target).collect();
    assert_eq!(
        targets,
        [
            "/gen-x/v1/xyz-2-pro",
            "/gen-x/v1/xyz-tools/deblur-v1",
            "/gen-x/v1/xyz-2-klein-9b-kv-finetuned"
        ]
    );
    service.assert_every_request_has_the_key();
}

#[tokio::test(start_paused = true)]
async fn path_parameters_cannot_change_the_path() {
    let service = ScriptedServer::start().await;
    for model in ["", "../x", "gen-2/..", "a?b", "a#b", "a b", "%2e%2e"] {
        let error = client(&service).submit(BaseModelFinetuned::new(model)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Validation, "{model}");
    }
    service.assert_received_nothing();
}

#[tokio::test(start_paused = true)]
#[expect(deprecated, reason = "deprecated operations still work")]
async fn regional_operations_use_the_regional_base_url() {
    let (service, region) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let client = samples::builder(&service).regional_base_url(region.url("")).build().unwrap();
    region.reply(samples::accepted(&region, "t1")).reply(samples::ready(&service));
    service.reply(samples::accepted(&service, "t2"));

    let _ = client
        .submit(types::GenPro11UltraFinetuned::new("my-lora"))
        .await
        .unwrap()
        .wait()
        .await
        .unwrap();
    let _ = client.submit(fox()).await.unwrap();

    assert_eq!(region.posts()[0].target, "/v1/gen-pro-1.1-ultra-finetuned");
    assert_eq!(service.only_request().target, "/v1/gen-2-pro");
    region.assert_every_request_has_the_key();
    service.assert_every_request_has_the_key();
}

#[tokio::test(start_paused = true)]
#[expect(deprecated, reason = "deprecated operations still work")]
async fn nothing_is_sent_without_a_regional_base_url() {
    let service = ScriptedServer::start().await;

    let error =
        client(&service).submit(types::GenPro11UltraFinetuned::new("my-lora")).await.unwrap_err();

    assert_kind(&error, ErrorKind::Settings);
    assert!(error.to_string().contains("IMAGEKILN_REGIONAL_BASE_URL"), "{error}");
    assert_ne!(error.billing(), Billing::Unknown);
    service.assert_received_nothing();
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_for_an_operation_that_creates_no_task() {
    let service = ScriptedServer::start().await;
    let request = Request::new(find_operation("get_result").unwrap()).field("id", "t1");

    let error = client(&service).submit(request).await.unwrap_err();

    assert_kind(&error, ErrorKind::Usage);
    service.assert_received_nothing();
}
