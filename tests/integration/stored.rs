//! The stored form of requests, and text in image fields.

use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    requests,
    support::{
        samples::{PNG, accepted, builder},
        scripted::ScriptedServer,
    },
};
use imagekiln::{
    Error, ErrorKind, ImageInput, Request, Submit, find_operation, operations, types::*,
};

const PNG_BASE64: &str = concat!(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQ",
    "AAAABJRU5ErkJggg=="
);

/// Converts a request to its generated type and back.
type Convert = fn(Request) -> Result<Request, Error>;

fn converted<T>(request: Request) -> Result<Request, Error>
where
    T: TryFrom<Request, Error = Error> + Submit,
{
    T::try_from(request).map(Submit::into_request)
}

fn convert(operation: &str) -> Convert {
    match operation {
        "gen-2-pro" => converted::<Gen2Pro>,
        "gen-2-pro-preview" => converted::<Gen2ProPreview>,
        "gen-2-flex" => converted::<Gen2Flex>,
        "gen-2-klein-9b" => converted::<Gen2Klein9b>,
        "gen-kontext-pro" => converted::<GenKontextPro>,
        "gen-dev" => converted::<GenDev>,
        "gen-pro-1.1-ultra" => converted::<GenPro11Ultra>,
        "gen-pro-1.0-fill" => converted::<GenPro10Fill>,
        "gen-pro-1.0-expand" => converted::<GenPro10Expand>,
        "gen-tools/deblur-v1" => converted::<GenToolsDeblurV1>,
        "gen-tools/outpainting-v1" => converted::<GenToolsOutpaintingV1>,
        "gen-tools/vto-v1" => converted::<GenToolsVtoV1>,
        "gen-3-video" => converted::<Gen3Video>,
        "{base_model}-finetuned" => converted::<BaseModelFinetuned>,
        _ => Ok,
    }
}

#[test]
fn every_request_round_trips_without_its_secret() {
    let mut without_secret = 0;
    for request in requests::full().into_iter().chain(requests::minimal()) {
        let text = request.to_json().unwrap();
        assert!(!text.contains("whsec"), "{text}");
        let read = Request::from_json(&text).unwrap();
        without_secret += usize::from(read != request);
        let name = request.operation().name;
        assert_eq!(read.to_json().unwrap(), text, "{name}");
        assert_eq!(convert(name)(read.clone()).unwrap(), read, "{name}");
    }
    assert!(without_secret > 10, "most full requests have a secret");
}

#[test]
fn requests_are_equal_regardless_of_field_order() {
    for operation in operations().iter().filter(|operation| operation.submits) {
        let example = operation.example().expect("every submission has an example");
        assert_eq!(Request::from_json(&example.to_json().unwrap()).unwrap(), example);
        assert_ne!(example.clone().field("another", 1), example);
    }
    let pro = find_operation("gen-2-pro").unwrap();
    let one = Request::new(pro).field("prompt", "a").field("width", 64);
    let two = Request::new(pro).field("width", 64.0).field("prompt", "a");
    assert_eq!(one, two);
    assert_ne!(one, two.field("width", 64), "a field is set twice");
}

#[test]
fn images_are_stored_by_their_source() {
    let images = [
        (ImageInput::path("a folder/fox.png"), json!({ "path": "a folder/fox.png" })),
        (ImageInput::bytes(vec![1, 2, 3]), json!({ "bytes": "AQID" })),
        (ImageInput::base64("AQID"), json!("AQID")),
        (ImageInput::base64("http://a"), json!({ "base64": "http://a" })),
        (ImageInput::url("https://a.example/x?sig=1"), json!("https://a.example/x?sig=1")),
        (ImageInput::url("ftp://a.example/x"), json!({ "url": "ftp://a.example/x" })),
    ];
    for (image, stored) in images {
        let request = Gen2Pro::new("a").input_image(image.clone());
        assert_eq!(serde_json::to_value(&request).unwrap()["input_image"], stored);
        let text = request.to_json().unwrap();
        assert_eq!(Gen2Pro::from_json(&text).unwrap(), request, "{text}");
        let unlisted = Request::new(find_operation("gen-2-pro").unwrap()).image("another", image);
        let read = Request::from_json(&unlisted.to_json().unwrap()).unwrap();
        assert_eq!(read, unlisted);
        assert_eq!(Gen2Pro::try_from(read).unwrap_err().kind(), ErrorKind::Validation);
    }
}

/// They must not become text, or objects, that are sent as such.
#[test]
fn images_in_any_field_are_read_as_images() {
    let images = || [ImageInput::path("fox.png"), ImageInput::bytes(vec![1, 2, 3])];
    for field in ["another", "prompt", "input_image"] {
        let request = Request::new(find_operation("gen-2-pro").unwrap()).images(field, images());
        let text = request.to_json().unwrap();
        assert_eq!(Request::from_json(&text).unwrap(), request, "{text}");
    }
}

#[test]
fn only_from_json_reads_paths() {
    let with_path = json!({ "prompt": "a", "input_image": { "path": "/etc/passwd" } });
    let error = serde_json::from_value::<Gen2Pro>(with_path).unwrap_err().to_string();
    assert!(error.contains("cannot be a path here"), "{error}");
    let with_text = json!({ "prompt": "a", "input_image": "/etc/passwd" });
    let request: Gen2Pro = serde_json::from_value(with_text).unwrap();
    assert_eq!(request.input_image, Some(ImageInput::base64("/etc/passwd")));
}

#[test]
fn unknown_names_are_refused_with_a_suggestion() {
    let read = |stored: Value| Request::from_json(&stored.to_string()).unwrap_err().to_string();
    let errors = [
        read(json!({ "operation": "gen-2-por" })),
        read(json!({ "operation": "unlike any" })),
        read(
            json!({ "operation": "gen-2-pro", "fields": { "promt": "a", "heigth": 1, "xyz": 1 } }),
        ),
        read(json!({ "operation": "gen-2-pro", "field": {} })),
        read(json!({ "operation": "gen-2-pro", "fields": { "input_image": { "file": "a.png" } } })),
        read(json!({ "operation": "gen-2-klein-4b", "fields": { "prompt": "a" } })),
        read(json!({ "fields": {} })),
        Gen2Pro::from_json(r#"{"operation":"gen-2-flex","fields":{"prompt":"a"}}"#)
            .unwrap_err()
            .to_string(),
        Gen2Pro::from_json(r#"{"operation":"gen-2-pro"}"#).unwrap_err().to_string(),
        Request::new(find_operation("gen-2-pro").unwrap())
            .field("steps", f64::NAN)
            .to_json()
            .unwrap_err()
            .to_string(),
    ];
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn an_error_does_not_quote_a_value_of_the_wrong_type() {
    for (text, expected) in [
        (r#""HUSH""#, "could not parse the request: expected a request at line 1"),
        (r#"{"operation":"gen-2-pro","fields":"HUSH, expected "}"#, ": expected a map at line 1"),
        (r#"{"operation":"gen-2-pro","path":{"a":["HUSH"]}}"#, ": expected a string at line 1"),
    ] {
        let error = Request::from_json(text).unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains("HUSH"), "{error}");
    }
}

#[test]
fn text_never_becomes_a_path() {
    let of = |text: &str| Gen2Pro::new("a").input_image(text).validate();
    assert!(of("https://a.example/fox.png").is_ok());
    let data = format!("data:image/png;base64,{PNG_BASE64}");
    assert!(of(&data).is_ok());
    for text in ["fox.png", "/etc/passwd", "file:///etc/passwd", "AQID", "", "data:,fox"] {
        let error = of(text).unwrap_err();
        assert_eq!(error.violations().len(), 1, "{text}: {error}");
        assert!(ImageInput::try_url(text).is_err(), "{text}");
    }
    assert_eq!(ImageInput::try_url(data.clone()), Ok(ImageInput::base64(data)));
    let uppercase = "HTTPS://a.example/fox.png";
    assert_eq!(ImageInput::try_url(uppercase), Ok(ImageInput::url(uppercase)));
}

/// Validation refuses text that is not a URL. Without validation, the text itself is sent, not a
/// file.
#[tokio::test]
async fn text_is_sent_as_text_without_validation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fox.png");
    std::fs::write(&path, PNG).unwrap();
    let path = path.to_str().unwrap();
    let server = ScriptedServer::start().await;
    server.reply(accepted(&server, "t1"));
    let client = builder(&server).validation(false).build().unwrap();
    let _ = client.submit(Gen2Pro::new("a").input_image(path)).await.unwrap();
    let sent: Value = serde_json::from_slice(&server.only_request().body).unwrap();
    assert_eq!(sent["input_image"], path);
}

#[test]
fn references_set_the_numbered_fields_in_order() {
    let [a, b] = ["https://a.example/1.png", "https://a.example/2.png"];
    let request = Gen2Pro::new("x").references([a, b]);
    assert_eq!(request.input_image, Some(ImageInput::url(a)));
    assert_eq!(request.input_image_2, Some(ImageInput::url(b)));
    assert_eq!(request.input_image_3, None);
    let replaced = request.references([Path::new("c.png")]);
    assert_eq!(replaced.input_image, Some(ImageInput::path("c.png")));
    assert_eq!(replaced.input_image_2, None);
    assert!(Gen2Pro::new("x").references(vec![a; 8]).validate().is_ok());
    let too_many = Gen2Pro::new("x").references(vec![a; 9]);
    let error = too_many.validate().unwrap_err();
    assert_eq!(error.violations().len(), 1);
    insta::assert_snapshot!(
        error.violations()[0],
        @"input_image: is the first of 9 reference images; at most 8 are allowed"
    );
    assert!(too_many.references([a]).validate().is_ok());
}

/// Any JSON, in whose objects the members have names of this pattern.
pub fn json_values(names: &'static str) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(names, inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_request_round_trips(
        values in prop::collection::btree_map(
            prop_oneof!["[a-z_]{1,6}", Just("prompt".to_owned()), Just("width".to_owned()),
                Just("input_image".to_owned()), Just("seed".to_owned())],
            json_values("[a-z]{1,4}"),
            0..6,
        ),
    ) {
        let request = Request::new(find_operation("gen-2-pro").unwrap());
        let request = values.into_iter().fold(request, |request, (name, value)| {
            request.field(name, value)
        });
        let read = Request::from_json(&request.to_json().unwrap()).unwrap();
        prop_assert_eq!(&read, &request);
        if let Ok(typed) = Gen2Pro::try_from(read) {
            prop_assert_eq!(typed.into_request(), request);
        }
    }
}
