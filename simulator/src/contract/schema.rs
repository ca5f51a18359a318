//! Translates OpenAPI 3.0 schemas to JSON Schema.

use jsonschema::{Draft, Validator};
use serde_json::{Map, Value, json};
use url::Url;

/// Keywords that are the same in both, and whose values are not schemas.
const KEPT: [&str; 14] = [
    "type",
    "enum",
    "format",
    "pattern",
    "minimum",
    "maximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "required",
    "minProperties",
];

/// Returns a validator for `schema`, a schema of the OpenAPI 3.0 document `document`, in which its
/// references are resolved.
///
/// # Errors
///
/// The schema is not valid.
pub fn validator(document: &Value, schema: &Value) -> Result<Validator, String> {
    let mut root = translate(schema);
    let components = document["components"]["schemas"].as_object();
    let translated: Map<_, _> = components
        .into_iter()
        .flatten()
        .map(|(name, schema)| (name.clone(), translate(schema)))
        .collect();
    if let Value::Object(root) = &mut root {
        root.insert("components".to_owned(), json!({ "schemas": translated }));
    }
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .should_validate_formats(true)
        .should_ignore_unknown_formats(true)
        .with_format("uri", |text: &str| Url::parse(text).is_ok())
        .build(&root)
        .map_err(|error| error.to_string())
}

/// Follows `$ref` within the document. A dangling reference yields `null`.
pub(super) fn resolve<'a>(document: &'a Value, mut value: &'a Value) -> &'a Value {
    for _ in 0..16 {
        let Some(reference) = value["$ref"].as_str() else {
            return value;
        };
        let target = reference.strip_prefix('#').and_then(|pointer| document.pointer(pointer));
        value = target.unwrap_or(&Value::Null);
    }
    &Value::Null
}

fn translate(schema: &Value) -> Value {
    let Some(schema) = schema.as_object() else {
        return schema.clone();
    };
    // In OpenAPI 3.0, siblings of `$ref` are ignored.
    if let Some(reference) = schema.get("$ref") {
        return json!({ "$ref": reference });
    }
    let mut translated = Map::new();
    for (keyword, value) in schema {
        let value = match keyword.as_str() {
            kept if KEPT.contains(&kept) => value.clone(),
            "maxProperties" => value.clone(),
            "properties" => translate_map(value),
            "items" | "not" | "additionalProperties" => translate(value),
            "allOf" | "anyOf" | "oneOf" => {
                Value::Array(value.as_array().into_iter().flatten().map(translate).collect())
            }
            _ => continue,
        };
        translated.insert(keyword.clone(), value);
    }
    for (bound, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
        if schema.get(exclusive) == Some(&Value::Bool(true))
            && let Some(limit) = translated.remove(bound)
        {
            translated.insert(exclusive.to_owned(), limit);
        }
    }
    // OpenAPI 3.0.3: `nullable` adds null to the type in the same schema, and has no effect without
    // one or on a schema that is referred to.
    if schema.get("nullable") == Some(&Value::Bool(true)) && schema.contains_key("type") {
        let mut own = Map::new();
        // `allOf` and the like also apply to null.
        for keyword in ["allOf", "anyOf", "oneOf", "not", "enum"] {
            own.extend(translated.remove_entry(keyword));
        }
        // A condition instead of an alternative keeps the errors those of the schema itself.
        own.insert("if".to_owned(), json!({ "type": "null" }));
        own.insert("else".to_owned(), Value::Object(translated));
        return Value::Object(own);
    }
    Value::Object(translated)
}

fn translate_map(schemas: &Value) -> Value {
    let schemas = schemas.as_object().into_iter().flatten();
    Value::Object(schemas.map(|(name, schema)| (name.clone(), translate(schema))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(schema: Value, instance: Value) -> bool {
        let kind = json!({ "type": "string", "enum": ["a", "b"] });
        let document = json!({ "components": { "schemas": { "Kind": kind } } });
        validator(&document, &schema).unwrap().is_valid(&instance)
    }

    #[test]
    fn nullable_allows_null_in_addition() {
        assert!(accepts(json!({ "type": "integer", "nullable": true, "minimum": 3 }), json!(null)));
        assert!(!accepts(json!({ "type": "integer", "nullable": true, "minimum": 3 }), json!(2)));
        let kinds = json!({ "type": "string", "nullable": true, "enum": ["a", null] });
        assert!(accepts(kinds.clone(), json!(null)));
        assert!(accepts(kinds.clone(), json!("a")));
        assert!(!accepts(kinds, json!("c")));
        assert!(!accepts(json!({ "type": "integer" }), json!(null)));
    }

    /// A strict validator of OpenAPI 3.0 refuses null here.
    #[test]
    fn nullable_does_not_change_other_schemas() {
        let all_of = json!([{ "$ref": "#/components/schemas/Kind" }]);
        let reference = json!({ "type": "string", "nullable": true, "allOf": all_of });
        assert!(!accepts(reference.clone(), json!(null)));
        assert!(accepts(reference, json!("a")));
        assert!(!accepts(json!({ "nullable": true, "allOf": all_of }), json!(null)));
        let list = json!({ "type": "string", "nullable": true, "enum": ["a", "b"] });
        assert!(!accepts(list, json!(null)));
    }

    #[test]
    fn properties_may_have_the_names_of_keywords() {
        let properties = json!({
            "type": { "type": "integer" },
            "nullable": { "type": "string" },
        });
        let schema = json!({ "type": "object", "properties": properties });
        assert!(accepts(schema.clone(), json!({ "type": 3, "nullable": "x" })));
        assert!(!accepts(schema, json!({ "type": "x" })));
    }

    #[test]
    fn exclusive_bounds_are_flags_in_openapi() {
        let schema = json!({
            "type": "number",
            "minimum": 3,
            "exclusiveMinimum": true,
            "maximum": 5,
            "exclusiveMaximum": false,
        });
        assert!(!accepts(schema.clone(), json!(3)));
        assert!(accepts(schema.clone(), json!(5)));
        assert!(!accepts(schema, json!(5.1)));
    }

    #[test]
    fn urls_are_checked() {
        let schema = json!({ "type": "string", "format": "uri" });
        assert!(accepts(schema.clone(), json!("https://example.com/hook?a=1")));
        assert!(!accepts(schema, json!("not a URL")));
    }
}
