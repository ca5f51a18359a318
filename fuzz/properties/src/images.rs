//! Base64, and `data:` URLs.

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use imagekiln::{ImageInput, Request, find_operation, fuzzing};
use serde_json::Value;

use crate::exchange::run;

/// Text is base64 exactly if another decoder decodes it without its whitespace. Its beginning is
/// decoded to the same bytes, and it is sent without whitespace and otherwise unchanged.
pub fn base64_text(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let plain: String = text.split_ascii_whitespace().collect();
    let expected = payload(&plain).and_then(decoded);
    assert_eq!(fuzzing::is_base64(data), expected.is_some(), "{text:?}");
    if let Some(bytes) = &expected {
        for length in [0, 1, 16, 64, bytes.len()] {
            let head = fuzzing::base64_head(data, length).expect("a beginning of base64 is base64");
            assert!(bytes.starts_with(&head), "{length} of {text:?}");
            assert!(head.len() >= bytes.len().min(length), "{length} of {text:?}");
        }
    }
    let operation = find_operation("gen-2-pro").expect("an operation");
    let request = Request::new(operation).image("input_image", ImageInput::base64(text));
    let body = run(fuzzing::body(&request)).expect("no file is read");
    let body: Value = serde_json::from_slice(&body).expect("the body is JSON");
    let sent = if expected.is_some() { &plain } else { text };
    assert_eq!(body["input_image"], *sent);
}

/// The text after the beginning of a `data:` URL.
fn payload(text: &str) -> Option<&str> {
    if !text.get(..5).is_some_and(|head| head.eq_ignore_ascii_case("data:")) {
        return Some(text);
    }
    let (head, payload) = text.split_once(',')?;
    let is_plain = head.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\<>".contains(&byte));
    (is_plain && head.to_ascii_lowercase().ends_with(";base64")).then_some(payload)
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    let decode = |alphabet, padding| {
        let config = GeneralPurposeConfig::new()
            .with_decode_padding_mode(padding)
            .with_decode_allow_trailing_bits(true);
        GeneralPurpose::new(alphabet, config).decode(text).ok()
    };
    [&alphabet::STANDARD, &alphabet::URL_SAFE].into_iter().find_map(|alphabet| {
        let canonical = decode(alphabet, DecodePaddingMode::RequireCanonical);
        canonical.or_else(|| decode(alphabet, DecodePaddingMode::RequireNone))
    })
}
