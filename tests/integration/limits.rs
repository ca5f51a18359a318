//! The limits of the contract, which the SDK enforces before it sends a request.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::json;

use crate::{
    operations::{client_of, simulator},
    requests::png,
};
use imagekiln::{
    AspectRatio, Client, ErrorKind, FieldKind, ImageInput, Request, Submit, operations,
    types::{Gen2Pro, GenDev, GenKontextPro, GenPro10Fill, GenToolsDeblurV1},
};
use imagekiln_simulator::Simulator;

pub fn violations(request: impl Submit) -> Vec<(String, String)> {
    match request.into_request().validate() {
        Ok(()) => Vec::new(),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Validation);
            assert!(!error.may_have_been_billed());
            error
                .violations()
                .iter()
                .map(|v| (v.field().unwrap_or_default().to_owned(), v.kind.clone()))
                .collect()
        }
    }
}

pub fn violation(field: &str, kind: &str) -> Vec<(String, String)> {
    vec![(field.to_owned(), kind.to_owned())]
}

#[test]
fn every_limit_of_every_field_is_enforced_exactly() {
    let mut bounds = 0;
    for operation in operations().iter().filter(|operation| operation.submits) {
        for field in operation.fields {
            let with = |value: serde_json::Value| {
                let request = Request::new(operation).field(field.name, value);
                violations(request)
                    .into_iter()
                    .any(|(name, kind)| name == field.name && kind != "set_twice")
            };
            let step = field.limits.multiple_of.unwrap_or(1.0);
            let number = |value: f64| match field.kind {
                FieldKind::Integer => json!(value as i64),
                _ => json!(value),
            };
            let text = |length: u64| match field.kind {
                FieldKind::Address => {
                    json!(format!("https://a.example/{}", "x".repeat(length as usize - 18)))
                }
                _ => json!("x".repeat(length as usize)),
            };
            if let Some(minimum) = field.limits.minimum {
                assert!(
                    !with(number(minimum)),
                    "{operation} {} does not accept its minimum",
                    field.name
                );
                assert!(
                    with(number(minimum - step)),
                    "{operation} {} accepts less than its minimum",
                    field.name
                );
                bounds += 1;
            }
            if let Some(maximum) = field.limits.maximum {
                assert!(
                    !with(number(maximum)),
                    "{operation} {} does not accept its maximum",
                    field.name
                );
                assert!(
                    with(number(maximum + step)),
                    "{operation} {} accepts more than its maximum",
                    field.name
                );
                bounds += 1;
            }
            if let (Some(step), Some(minimum)) = (field.limits.multiple_of, field.limits.minimum) {
                assert!(
                    with(number(minimum + step / 2.0)),
                    "{operation} {} accepts a number that is not a multiple",
                    field.name
                );
                bounds += 1;
            }
            if let Some(longest) = field.limits.max_length {
                assert!(
                    !with(text(longest)),
                    "{operation} {} does not accept its maximum length",
                    field.name
                );
                assert!(
                    with(text(longest + 1)),
                    "{operation} {} accepts more than its maximum length",
                    field.name
                );
                bounds += 1;
            }
            if let Some(shortest) = field.limits.min_length {
                assert!(
                    with(json!("x".repeat(shortest as usize - 1))),
                    "{operation} {} accepts less than its minimum length",
                    field.name
                );
                bounds += 1;
            }
            assert_eq!(
                with(json!(null)),
                !field.nullable && field.kind != FieldKind::Json,
                "{operation} {}",
                field.name
            );
        }
    }
    // Guards against a table without limits, which would pass all checks above.
    assert!(bounds > 100, "found only {bounds} limits");
}

#[test]
fn all_violations_are_reported_at_once() {
    let request = Gen2Pro::new("a fox")
        .width(63)
        .height(-1)
        .safety_tolerance(6)
        .output_format("gif")
        .extra("width", 100);
    assert_eq!(
        violations(request),
        [
            ("width", "set_twice"),
            ("width", "greater_than_equal"),
            ("height", "greater_than_equal"),
            ("safety_tolerance", "less_than_equal"),
            ("output_format", "enum"),
        ]
        .map(|(field, kind)| (field.to_owned(), kind.to_owned()))
    );
}

#[test]
fn aspect_ratios_are_limited_to_21_9_and_9_21() {
    for inside in [(21, 9), (9, 21), (1, 1), (7, 3)] {
        assert_eq!(violations(GenKontextPro::new().aspect_ratio(inside)), []);
    }
    for wrong in ["+16:9", "16:+9", "-16:9", "16", "16x9"] {
        assert!(wrong.parse::<AspectRatio>().is_err(), "{wrong}");
    }
    for outside in [(22, 9), (9, 22), (0, 1), (1, 0)] {
        assert_eq!(
            violations(GenKontextPro::new().aspect_ratio(outside)),
            violation("aspect_ratio", "value_error")
        );
    }
}

#[test]
fn a_mask_must_have_the_size_of_its_image() {
    let fill = |mask: Vec<u8>| {
        GenPro10Fill::new().image(ImageInput::bytes(png(8, 6, 0))).mask(ImageInput::bytes(mask))
    };
    assert_eq!(violations(fill(png(8, 6, 255))), []);
    assert_eq!(violations(fill(png(6, 8, 255))), violation("mask", "value_error"));
    // The SDK cannot read the size of a PSD, so the service must check it.
    assert_eq!(violations(fill(b"8BPS\0\x01 and so on".to_vec())), []);
}

#[test]
fn sizes_are_read_from_files_and_base64() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mask.png");
    std::fs::write(&path, png(6, 8, 255)).unwrap();
    let image = ImageInput::base64(STANDARD.encode(png(8, 8, 0)));
    let request = GenPro10Fill::new().image(image).mask(ImageInput::path(&path));
    assert_eq!(violations(request), violation("mask", "value_error"));
}

#[test]
fn deblur_accepts_four_megapixels() {
    assert_eq!(violations(GenToolsDeblurV1::new(ImageInput::bytes(png(2048, 2048, 0)))), []);
    assert_eq!(
        violations(GenToolsDeblurV1::new(ImageInput::bytes(png(2049, 2048, 0)))),
        violation("image", "value_error")
    );
}

#[test]
fn a_url_is_refused_if_the_contract_accepts_only_base64() {
    let url = || ImageInput::url("https://example.com/fox.png");
    assert_eq!(
        violations(GenDev::new().image_prompt(url())),
        violation("image_prompt", "value_error")
    );
    assert_eq!(violations(GenKontextPro::new().input_image(url())), []);
    assert_eq!(
        violations(GenKontextPro::new().input_image(ImageInput::url("ftp://x/y"))),
        violation("input_image", "url_parsing")
    );
    assert_eq!(
        violations(GenDev::new().image_prompt(ImageInput::bytes(vec![]))),
        violation("image_prompt", "value_error")
    );
    assert_eq!(
        violations(GenDev::new().image_prompt(ImageInput::base64("a\"b"))),
        violation("image_prompt", "value_error")
    );
}

#[test]
fn numbers_that_json_cannot_carry_are_violations() {
    assert_eq!(violations(GenDev::new().guidance(f64::NAN)), violation("guidance", "value_error"));
}

fn unvalidated_client_of(simulator: &Simulator) -> Client {
    let builder = Client::builder().api_key(simulator.api_key()).base_url(simulator.base_url());
    builder.validation(false).build().expect("the settings are complete")
}

/// If the service accepts more than the contract, validation can be turned off. The service's own
/// validation then applies.
#[tokio::test(start_paused = true)]
async fn local_validation_can_be_turned_off() {
    let simulator = simulator().await;
    let error = client_of(&simulator).submit(Gen2Pro::new("a fox").width(8)).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::Validation, None));
    assert!(simulator.counts().refused.is_empty(), "an invalid request was sent");

    let unvalidated = unvalidated_client_of(&simulator);
    let error = unvalidated.submit(Gen2Pro::new("a fox").width(8)).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::Validation, Some(422)));
    assert_eq!(error.violations()[0].field(), Some("width"));
}
