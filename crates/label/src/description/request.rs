//! Requests without images and without the queries of URLs, which may be signed.

use std::{collections::BTreeMap, path::Path};

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use imagekiln::{Address, FieldKind, Operation};
use serde_json::{Map, Value, json};

use crate::sha256;

/// ASCII text of this length without whitespace counts as an image, even in a field that the
/// contract does not define. Only ASCII text does, because prompts in other scripts may have no
/// whitespace.
const SHORTEST_IMAGE: usize = 1024;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Describes an image file.
type DescribeFile<'a> = &'a dyn Fn(&Path) -> Value;

/// Cleans a request in the form of [`imagekiln::Request::to_json`]. The members are sorted.
pub(super) fn cleaned(stored: Value, operation: &Operation, file: DescribeFile<'_>) -> Value {
    let Value::Object(parts) = stored else { return stored };
    sorted(parts, |part, value| match (part, value) {
        ("fields", Value::Object(fields)) => sorted(fields, |name, value| {
            cleaned_value(value, operation.field(name).map(|field| &field.kind), file)
        }),
        ("extra_images", Value::Object(images)) => sorted(images, |_, value| image(value, file)),
        (_, value) => cleaned_value(value, None, file),
    })
}

/// Cleans the members of an object, and sorts them by name. Otherwise, their order would depend on
/// a feature of `serde_json` that another package may turn on.
fn sorted(members: Map<String, Value>, clean: impl Fn(&str, Value) -> Value) -> Value {
    let members: BTreeMap<String, Value> = members.into_iter().collect();
    let members = members.into_iter().map(|(name, value)| {
        let value = clean(&name, value);
        (name, value)
    });
    Value::Object(members.collect())
}

fn cleaned_value(value: Value, kind: Option<&FieldKind>, file: DescribeFile<'_>) -> Value {
    match (kind, value) {
        (Some(FieldKind::Image { .. }), value) => image(value, file),
        (_, Value::Array(values)) => {
            values.into_iter().map(|value| cleaned_value(value, None, file)).collect()
        }
        (_, Value::Object(members)) => sorted(members, |_, value| cleaned_value(value, None, file)),
        (_, Value::String(text)) => cleaned_text(text),
        (_, value) => value,
    }
}

fn cleaned_text(text: String) -> Value {
    let has_scheme = |scheme: &str| {
        text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    let is_one_word = !text.contains(char::is_whitespace);
    let is_long = is_one_word && text.is_ascii() && text.len() >= SHORTEST_IMAGE;
    if has_scheme("data:") || is_long {
        return omitted(&text);
    }
    // A prompt may start with a URL.
    if is_one_word && (has_scheme("http://") || has_scheme("https://")) {
        Address::from(text).to_string().into()
    } else {
        text.into()
    }
}

/// Cleans the stored form of an image: text, or an object with one member.
fn image(value: Value, file: DescribeFile<'_>) -> Value {
    let is_url = |text: &str| text.get(..4).is_some_and(|text| text.eq_ignore_ascii_case("http"));
    match value {
        Value::String(text) if is_url(&text) => cleaned_text(text),
        Value::String(text) => omitted(&text),
        Value::Object(members) => {
            match members.iter().next().map(|(form, value)| (form.as_str(), value.as_str())) {
                Some(("path", Some(path))) => file(Path::new(path)),
                Some(("url", Some(url))) => Address::from(url).to_string().into(),
                Some((_, Some(text))) => omitted(text),
                _ => Value::Object(members),
            }
        }
        Value::Array(values) => values.into_iter().map(|value| image(value, file)).collect(),
        value => value,
    }
}

/// Describes the bytes of an image, so that its file can be recognized.
fn omitted(text: &str) -> Value {
    let bytes = decoded(text);
    json!({ "omitted": "image", "bytes": bytes.len(), "sha256": sha256(&bytes) })
}

/// Decodes base64 as the client does: in both alphabets, after an optional `data:TYPE;base64,`.
/// Returns other text as it is.
fn decoded(text: &str) -> Vec<u8> {
    let payload = text.split_once(',').map_or(text, |(_, payload)| payload);
    let payload: String = payload
        .chars()
        .filter(|c| !c.is_ascii_whitespace())
        .map(|c| match c {
            '-' => '+',
            '_' => '/',
            c => c,
        })
        .collect();
    BASE64.decode(payload).unwrap_or_else(|_| text.as_bytes().to_owned())
}
