//! The texts in a JSON value, at any depth.

use serde_json::Value;

/// Whether `holds` is true for one of the texts.
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_are_found_and_replaced_at_any_depth_but_names_are_not() {
        let mut value = json!({ "b": [1, { "c": "x" }, "y"], "y": null });
        let mut found = Vec::new();
        assert!(!any(&value, &mut |text| {
            found.push(text.to_owned());
            false
        }));
        assert_eq!(found, ["x", "y"]);
        assert!(any(&value, &mut |text| text == "y"));
        replace(&mut value, &|text| (text == "y").then(|| json!(7)));
        assert_eq!(value, json!({ "b": [1, { "c": "x" }, 7], "y": null }));
    }
}
