//! Searches and replaces the texts in a JSON value, at any depth.

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
    match value {
        Value::String(text) => {
            if let Some(other) = replacement(text) {
                *value = other;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, replacement)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|field| replace(field, replacement));
        }
        _ => {}
    }
}
