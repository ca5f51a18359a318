//! Base64, and `data:` URLs.

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use imagekiln::{ImageInput, Request, find_operation};

use crate::exchange::body_of;

/// Text is base64 exactly if another decoder decodes it without its whitespace. It has the same
/// problems as the decoded bytes, and it is sent without whitespace and otherwise unchanged.
pub fn base64_text(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let plain: String = text.split_ascii_whitespace().collect();
    let expected = payload(&plain).and_then(decoded);
    let request = request(ImageInput::base64(text));
    let problems = problems(&request);
    let is_base64 = !problems.iter().any(|problem| problem.contains("is text that is neither"));
    assert_eq!(is_base64, expected.is_some(), "{text:?}");
    let sent = if is_base64 { &plain } else { text };
    assert_eq!(body_of(&request)["input_image"], *sent);
    if let Some(bytes) = expected {
        assert_eq!(problems, self::problems(&self::request(ImageInput::bytes(bytes))), "{text:?}");
    }
}

fn request(image: ImageInput) -> Request {
    let operation = find_operation("gen-2-pro").expect("an operation");
    Request::new(operation).field("prompt", "a red fox").image("input_image", image)
}

/// What the client finds in the first bytes of an image, and in all of them.
fn problems(request: &Request) -> Vec<String> {
    let errors = [request.validate(), request.check_images()].into_iter().filter_map(Result::err);
    let lines = |error: imagekiln::Error| -> Vec<String> {
        error.violations().iter().map(ToString::to_string).collect()
    };
    errors.flat_map(lines).collect()
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
