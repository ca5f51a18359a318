//! What leaves for the wire, and what does not.

use base64::{Engine, engine::general_purpose::STANDARD};
use imagekiln::{
    AspectRatio, ErrorKind, OutputFormat, Request, find_operation,
    types::{self, BaseModelFinetuned, Gen2Pro, GenPro11Ultra, GenToolsDeblurV1},
};
use serde_json::{Value, json};

use crate::support::{
    received::Received,
    samples::{self, PNG, WEBHOOK_SECRET, assert_kind, client, fox},
    scripted::ScriptedServer,
};

async fn sent(request: impl imagekiln::Submit) -> Received {
    let service = ScriptedServer::start().await;
    service.answer(samples::accepted(&service, "t1"));
    let _ = client(&service).submit(request).await.unwrap();
    service.only_request()
}

#[tokio::test(start_paused = true)]
async fn is_the_one_required_field_and_no_default() {
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
async fn is_every_field_that_is_set() {
    let request = Gen2Pro::new("")
        .disable_pup(true)
        .input_image(PNG.to_vec())
        .seed(-1)
        .width(64)
        .height(8192)
        .safety_tolerance(0)
        .output_format(OutputFormat::Webp)
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
async fn may_be_an_explicit_null_or_an_unknown_field() {
    let post = sent(fox().extra("seed", Value::Null).extra("new_in_v2", json!({ "a": [1] }))).await;

    let expected =
        json!({ "prompt": "a red fox in the snow", "seed": null, "new_in_v2": { "a": [1] } });
    assert_eq!(post.json(), expected);
    post.assert_has_key();
}

#[tokio::test(start_paused = true)]
async fn is_nothing_where_a_field_is_set_twice() {
    let service = ScriptedServer::start().await;

    let error =
        client(&service).submit(fox().seed(7).extra("seed", Value::Null)).await.unwrap_err();

    assert_kind(&error, ErrorKind::Validation);
    assert_eq!(error.violations()[0].field(), Some("seed"));
    service.assert_received_nothing();
}

/// Even on the day when the check against the contract is turned off, a key is never written twice.
#[tokio::test(start_paused = true)]
async fn is_nothing_where_a_field_is_set_twice_and_nothing_else_is_checked() {
    let service = ScriptedServer::start().await;
    let client = samples::builder(&service).validation(false).build().unwrap();

    let error = client.submit(fox().seed(7).extra("seed", 8)).await.unwrap_err();

    assert_kind(&error, ErrorKind::Validation);
    service.assert_received_nothing();
}

#[tokio::test(start_paused = true)]
async fn is_nothing_where_the_contract_is_broken() {
    let service = ScriptedServer::start().await;
    let request = fox().width(63).safety_tolerance(6).webhook_url("nowhere");

    let error = client(&service).submit(request).await.unwrap_err();

    assert_kind(&error, ErrorKind::Validation);
    assert!(!error.may_have_been_billed());
    let fields: Vec<_> =
        error.violations().iter().filter_map(|violation| violation.field()).collect();
    assert_eq!(fields, ["width", "safety_tolerance", "webhook_url"]);
    service.assert_received_nothing();
}

#[tokio::test(start_paused = true)]
async fn is_all_of_it_where_the_check_is_turned_off() {
    let service = ScriptedServer::start().await;
    service.answer(samples::accepted(&service, "t1"));
    let client = samples::builder(&service).validation(false).build().unwrap();

    let _ = client.submit(fox().width(63).safety_tolerance(6)).await.unwrap();

    let expected = json!({ "prompt": "a red fox in the snow", "width": 63, "safety_tolerance": 6 });
    assert_eq!(service.only_request().json(), expected);
}

#[tokio::test(start_paused = true)]
async fn goes_to_the_name_that_the_service_gives_its_models() {
    let service = ScriptedServer::start().await;
    let client = samples::builder(&service)
        .model_prefix("xyz")
        .base_url(service.url("/gen-x/"))
        .build()
        .unwrap();
    (0..3).for_each(|_| {
        service.answer(samples::accepted(&service, "t1"));
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
async fn stays_below_its_path_whatever_a_parameter_says() {
    let service = ScriptedServer::start().await;
    for model in ["", "../x", "gen-2/..", "a?b", "a#b", "a b", "%2e%2e"] {
        let error = client(&service).submit(BaseModelFinetuned::new(model)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Validation, "{model}");
    }
    service.assert_received_nothing();
}

#[tokio::test(start_paused = true)]
#[expect(deprecated, reason = "the contract keeps deprecated operations in effect")]
async fn goes_to_the_regional_base_where_the_contract_says_so() {
    let (service, region) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let client = samples::builder(&service).regional_base_url(region.url("")).build().unwrap();
    region.answer(samples::accepted(&region, "t1")).answer(samples::ready(&service));
    service.answer(samples::accepted(&service, "t2"));

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
#[expect(deprecated, reason = "the contract keeps deprecated operations in effect")]
async fn is_nothing_where_no_regional_base_is_set() {
    let service = ScriptedServer::start().await;

    let error =
        client(&service).submit(types::GenPro11UltraFinetuned::new("my-lora")).await.unwrap_err();

    assert_kind(&error, ErrorKind::Settings);
    assert!(error.to_string().contains("IMAGEKILN_REGIONAL_BASE_URL"), "{error}");
    assert!(!error.may_have_been_billed());
    service.assert_received_nothing();
}

#[tokio::test(start_paused = true)]
async fn is_nothing_for_an_operation_that_creates_no_task() {
    let service = ScriptedServer::start().await;
    let request = Request::new(find_operation("get_result").unwrap()).field("id", "t1");

    let error = client(&service).submit(request).await.unwrap_err();

    assert_kind(&error, ErrorKind::Settings);
    service.assert_received_nothing();
}
