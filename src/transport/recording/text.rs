//! What replaces text in recordings.

use serde_json::{Value, json};

use crate::{
    Address,
    values::{REDACTED, is_secret, web_url::is_url},
};

/// Replaces the text in `value` by what `replace` returns for it and for the name of its member.
/// Values of members whose names suggest a secret are redacted, whatever their type is.
pub(super) fn replaced(name: &str, value: &Value, replace: &dyn Fn(&str, &str) -> Value) -> Value {
    match value {
        Value::Null => Value::Null,
        _ if is_secret(name) => REDACTED.into(),
        Value::String(text) => replace(name, text),
        Value::Array(items) => items.iter().map(|item| replaced(name, item, replace)).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), replaced(name, value, replace)))
            .collect(),
        Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Replaces a text that may be a URL.
pub(super) fn url_or_text(text: &str) -> Value {
    if is_url(text) && !text.contains(char::is_whitespace) {
        Address::from(text).to_string().into()
    } else {
        length(text)
    }
}

/// Replaces a text by its length, which tests whether it fits the limits of the contract.
pub(super) fn length(text: &str) -> Value {
    json!(format!("[text, {} characters]", text.chars().count()))
}
