//! The errors for violations that the SDK finds before it sends a request. `agreement` tests which
//! ones it finds.

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::{
    operations::{client_of, simulator},
    requests::png,
};
use imagekiln::{
    Billing, Client, ErrorKind, ImageInput, Submit,
    types::{Gen2Pro, GenPro10Fill},
};
use imagekiln_simulator::Simulator;

fn violations(request: impl Submit) -> Vec<(String, String)> {
    match request.into_request().validate() {
        Ok(()) => Vec::new(),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Validation);
            assert_ne!(error.billing(), Billing::Unknown);
            error
                .violations()
                .iter()
                .map(|v| (v.field().unwrap_or_default().to_owned(), v.kind.clone()))
                .collect()
        }
    }
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
fn sizes_are_read_from_files_and_base64() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mask.png");
    std::fs::write(&path, png(6, 8, 255)).unwrap();
    let image = ImageInput::base64(STANDARD.encode(png(8, 8, 0)));
    let request = GenPro10Fill::new().image(image).mask(ImageInput::path(&path));
    assert_eq!(violations(request), [("mask".to_owned(), "value_error".to_owned())]);
}

pub fn unvalidated_client_of(simulator: &Simulator) -> Client {
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
