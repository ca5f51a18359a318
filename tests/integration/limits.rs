//! The limits of the contract, enforced here as the service enforces them, before anything is sent.

use base64::{Engine, engine::general_purpose::STANDARD};
use imagekiln::{
    Client, ErrorKind, FieldKind, ImageInput, Request, Submit, operations,
    types::{Gen2Pro, GenDev, GenKontextPro, GenPro10Fill, GenToolsDeblurV1},
};
use imagekiln_simulator::Simulator;
use proptest::prelude::*;
use serde_json::json;

use crate::{
    operations::{client_of, simulator},
    requests::png,
};

fn violations(request: impl Submit) -> Vec<(String, String)> {
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

fn one(field: &str, kind: &str) -> Vec<(String, String)> {
    vec![(field.to_owned(), kind.to_owned())]
}

#[test]
fn every_bound_of_every_field_holds_at_its_edge_and_beyond() {
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
            if let Some(minimum) = field.limits.minimum {
                assert!(!with(number(minimum)), "{operation} {} refuses its minimum", field.name);
                assert!(
                    with(number(minimum - step)),
                    "{operation} {} takes less than its minimum",
                    field.name
                );
                bounds += 1;
            }
            if let Some(maximum) = field.limits.maximum {
                assert!(!with(number(maximum)), "{operation} {} refuses its maximum", field.name);
                assert!(
                    with(number(maximum + step)),
                    "{operation} {} takes more than its maximum",
                    field.name
                );
                bounds += 1;
            }
            if let (Some(step), Some(minimum)) = (field.limits.multiple_of, field.limits.minimum) {
                assert!(
                    with(number(minimum + step / 2.0)),
                    "{operation} {} takes what is no multiple",
                    field.name
                );
                bounds += 1;
            }
            if let Some(longest) = field.limits.max_length {
                let address =
                    |length: u64| format!("https://a.example/{}", "x".repeat(length as usize - 18));
                assert!(
                    !with(json!(address(longest))),
                    "{operation} {} refuses its longest",
                    field.name
                );
                assert!(
                    with(json!(address(longest + 1))),
                    "{operation} {} takes more than its longest",
                    field.name
                );
                assert!(with(json!("")), "{operation} {} takes less than its shortest", field.name);
                bounds += 2;
            }
            assert_eq!(
                with(json!(null)),
                !field.nullable && field.kind != FieldKind::Json,
                "{operation} {}",
                field.name
            );
        }
    }
    // A table that lost its limits would pass all of the above.
    assert!(bounds > 100, "only {bounds} bounds were found");
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
fn aspect_ratios_lie_between_21_9_and_9_21() {
    for inside in [(21, 9), (9, 21), (1, 1), (7, 3)] {
        assert_eq!(violations(GenKontextPro::new().aspect_ratio(inside)), []);
    }
    for outside in [(22, 9), (9, 22), (0, 1), (1, 0)] {
        assert_eq!(
            violations(GenKontextPro::new().aspect_ratio(outside)),
            one("aspect_ratio", "value_error")
        );
    }
}

#[test]
fn a_mask_is_as_large_as_its_image() {
    let fill = |mask: Vec<u8>| {
        GenPro10Fill::new().image(ImageInput::bytes(png(8, 6, 0))).mask(ImageInput::bytes(mask))
    };
    assert_eq!(violations(fill(png(8, 6, 255))), []);
    assert_eq!(violations(fill(png(6, 8, 255))), one("mask", "image_size_mismatch"));
    // The size of a PSD can't be read here, so the service checks it.
    assert_eq!(violations(fill(b"8BPS\0\x01 and so on".to_vec())), []);
}

#[test]
fn sizes_are_read_from_files_and_base64_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mask.png");
    std::fs::write(&path, png(6, 8, 255)).unwrap();
    let image = ImageInput::base64(STANDARD.encode(png(8, 8, 0)));
    let request = GenPro10Fill::new().image(image).mask(ImageInput::path(&path));
    assert_eq!(violations(request), one("mask", "image_size_mismatch"));
}

#[test]
fn deblur_takes_four_megapixels() {
    assert_eq!(violations(GenToolsDeblurV1::new(ImageInput::bytes(png(2048, 2048, 0)))), []);
    assert_eq!(
        violations(GenToolsDeblurV1::new(ImageInput::bytes(png(2049, 2048, 0)))),
        one("image", "image_too_large")
    );
}

#[test]
fn a_url_is_refused_where_the_contract_takes_base64_only() {
    let url = || ImageInput::url("https://example.com/fox.png");
    assert_eq!(violations(GenDev::new().image_prompt(url())), one("image_prompt", "value_error"));
    assert_eq!(violations(GenKontextPro::new().input_image(url())), []);
    assert_eq!(
        violations(GenKontextPro::new().input_image(ImageInput::url("ftp://x/y"))),
        one("input_image", "url_parsing")
    );
    assert_eq!(
        violations(GenDev::new().image_prompt(ImageInput::bytes(vec![]))),
        one("image_prompt", "value_error")
    );
    assert_eq!(
        violations(GenDev::new().image_prompt(ImageInput::base64("a\"b"))),
        one("image_prompt", "value_error")
    );
}

#[test]
fn numbers_that_json_cannot_carry_are_violations() {
    assert_eq!(violations(GenDev::new().guidance(f64::NAN)), one("guidance", "value_error"));
}

fn loose_client_of(simulator: &Simulator) -> Client {
    let builder = Client::builder().api_key(simulator.api_key()).base_url(simulator.base_url());
    builder.validation(false).build().expect("the settings are complete")
}

/// The day the service is looser than the document: the check can be turned off, and the service's
/// own word counts.
#[tokio::test(start_paused = true)]
async fn local_validation_can_be_turned_off() {
    let simulator = simulator().await;
    let error = client_of(&simulator).submit(Gen2Pro::new("a fox").width(8)).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::Validation, None));
    assert!(simulator.counts().refused.is_empty(), "an invalid request was sent");

    let loose = loose_client_of(&simulator);
    let error = loose.submit(Gen2Pro::new("a fox").width(8)).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::Validation, Some(422)));
    assert_eq!(error.violations()[0].field(), Some("width"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// The SDK's check and the simulator's, which works from the document by another road, agree on
    /// every number.
    #[test]
    fn the_sdk_and_the_simulator_agree(width in -100i64..2000, steps in -5i64..60, guidance in 0.0f64..8.0) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let simulator = simulator().await;
            let loose = loose_client_of(&simulator);
            let request = GenDev::new().prompt("a fox").width(width).steps(steps).guidance(guidance);
            let mut here: Vec<_> = violations(request.clone()).into_iter().map(|(field, _)| field).collect();
            let mut there: Vec<_> = match loose.submit(request).await {
                Ok(_) => Vec::new(),
                Err(error) => error.violations().iter().filter_map(|v| v.field().map(str::to_owned)).collect(),
            };
            here.sort();
            here.dedup();
            there.sort();
            there.dedup();
            prop_assert_eq!(here, there);
            Ok(())
        })?;
    }
}
