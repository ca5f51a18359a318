//! Searches and replaces the texts and other values in a JSON value, at any depth.

use serde_json::Value;

/// Whether `holds` returns true for one of the texts.
pub(crate) fn any(value: &Value, holds: &mut impl FnMut(&str) -> bool) -> bool {
    match value {
        Value::String(text) => holds(text),
        Value::Array(items) => items.iter().any(|item| any(item, holds)),
        Value::Object(fields) => fields.values().any(|field| any(field, holds)),
        _ => false,
    }
}

/// Replaces the texts for which `replacement` returns a value.
pub(crate) fn replace(value: &mut Value, replacement: &impl Fn(&str) -> Option<Value>) {
    change(value, &|value| {
        if let Some(other) = value.as_str().and_then(replacement) {
            *value = other;
        }
    });
}

/// Changes a value, and then the values in it.
pub(crate) fn change(value: &mut Value, one: &impl Fn(&mut Value)) {
    one(value);
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| change(item, one)),
        Value::Object(fields) => fields.values_mut().for_each(|field| change(field, one)),
        _ => {}
    }
}
