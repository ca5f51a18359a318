//! Translates OpenAPI 3.0 schemas to JSON Schema.

use jsonschema::{Draft, Validator};
use serde_json::{Map, Value, json};
use url::Url;

use super::integer::{INT64, Int64};

/// Keywords that are the same in both, and whose values are not schemas.
const SAME: [&str; 14] = [
    "type",
    "enum",
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
    "maxProperties",
];

/// Keywords that the translation handles separately.
const TRANSLATED: [&str; 4] = ["format", "nullable", "exclusiveMinimum", "exclusiveMaximum"];

/// Keywords that a JSON Schema validator does not check: notes, and the rules that
/// [`Fields`](super::Fields) has.
const UNCHECKED: [&str; 18] = [
    "default",
    "deprecated",
    "description",
    "example",
    "title",
    "x-address",
    "x-aspect-ratio",
    "x-correction",
    "x-default",
    "x-extensible-enum",
    "x-image",
    "x-mask-of",
    "x-max-megapixels",
    "x-not-shown",
    "x-same-size",
    "x-secret",
    "x-success",
    "x-valid-seconds",
];

/// Returns a validator for `schema`, a schema of the OpenAPI 3.0 document `document`, in which its
/// references are resolved.
///
/// # Errors
///
/// The schema is not valid, or it or a component has a keyword or a format that the simulator does
/// not support.
pub fn validator(document: &Value, schema: &Value) -> Result<Validator, String> {
    let mut root = translate(schema)?;
    let schemas = document.pointer("/components/schemas").unwrap_or(&Value::Null);
    let translated = translate_map(schemas)?;
    if let Value::Object(root) = &mut root {
        root.insert("components".to_owned(), json!({ "schemas": translated }));
    }
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .should_validate_formats(true)
        .with_format("uri", is_uri)
        .with_keyword(INT64, |_, _, _| Ok(Box::new(Int64)))
        .build(&root)
        .map_err(|error| error.to_string())
}

/// Whether text is a URI. The parser alone would repair characters that a URI cannot contain.
fn is_uri(text: &str) -> bool {
    let is_wrong = |c: char| c.is_whitespace() || c.is_control() || c == '\\';
    !text.contains(is_wrong) && Url::parse(text).is_ok()
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

fn translate(schema: &Value) -> Result<Value, String> {
    let Some(schema) = schema.as_object() else {
        return Ok(schema.clone());
    };
    // In OpenAPI 3.0, siblings of `$ref` are ignored.
    if let Some(reference) = schema.get("$ref") {
        return Ok(json!({ "$ref": reference }));
    }
    let mut translated = translate_format(schema)?;
    for (keyword, value) in schema {
        let value = match keyword.as_str() {
            same if SAME.contains(&same) => value.clone(),
            "properties" => translate_map(value)?,
            "items" | "not" | "additionalProperties" => translate(value)?,
            "allOf" | "anyOf" | "oneOf" => {
                value.as_array().into_iter().flatten().map(translate).collect::<Result<_, _>>()?
            }
            other if TRANSLATED.contains(&other) || UNCHECKED.contains(&other) => continue,
            // A rule that is not enforced would let a client's mistake pass.
            other => return Err(unsupported("keyword", other)),
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
        return Ok(Value::Object(own));
    }
    Ok(Value::Object(translated))
}

/// The keywords that check the format of a schema.
fn translate_format(schema: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    let Some(format) = schema.get("format") else { return Ok(Map::new()) };
    match format.as_str().unwrap_or_default() {
        // Every number of JSON is one.
        "double" => Ok(Map::new()),
        INT64 => Ok(Map::from_iter([
            (INT64.to_owned(), true.into()),
            ("minimum".to_owned(), i64::MIN.into()),
            ("maximum".to_owned(), i64::MAX.into()),
        ])),
        "date" | "date-time" | "uri" | "uuid" => {
            Ok(Map::from_iter([("format".to_owned(), format.clone())]))
        }
        other => Err(unsupported("format", other)),
    }
}

fn unsupported(what: &str, name: &str) -> String {
    format!(
        "unsupported {what} `{name}` in a schema: add support for it to the simulator, or remove it"
    )
}

/// Translates named schemas. An error has the name.
fn translate_map(schemas: &Value) -> Result<Value, String> {
    let mut translated = Map::new();
    for (name, schema) in schemas.as_object().into_iter().flatten() {
        let schema = translate(schema).map_err(|problem| format!("`{name}`: {problem}"))?;
        translated.insert(name.clone(), schema);
    }
    Ok(Value::Object(translated))
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
        for wrong in
            ["not a URL", " https://a.example", "https://a.example/a b", r"https:\\a.example"]
        {
            assert!(!accepts(schema.clone(), json!(wrong)), "{wrong}");
        }
    }

    #[test]
    fn int64_has_bounds_unless_the_schema_has_its_own() {
        let schema = json!({ "type": "integer", "format": "int64", "nullable": true });
        let positive = json!({ "type": "integer", "format": "int64", "minimum": 1 });
        for (number, is_int64, is_positive) in [
            (json!(i64::MIN), true, false),
            (json!(-9.2e18), true, false),
            (json!(0), true, false),
            (json!(i64::MAX), true, true),
            (json!(i64::MIN as f64), false, false),
            (json!(-1e30), false, false),
            (json!(i64::MAX as u64 + 1), false, false),
            (json!(1e19), false, false),
        ] {
            assert_eq!(accepts(schema.clone(), number.clone()), is_int64, "{number}");
            assert_eq!(accepts(positive.clone(), number.clone()), is_positive, "{number}");
        }
    }

    #[test]
    fn formats_of_responses_are_checked() {
        for (format, right, wrong) in [
            ("date", json!("2026-11-26"), json!("26.11.2026")),
            ("date-time", json!("2026-11-26T12:00:00Z"), json!("2026-11-26")),
            ("uuid", json!("3f2a8c1e-0000-4000-8000-000000000000"), json!("3f2a")),
            ("double", json!(0.5), json!("0.5")),
        ] {
            let kind = if format == "double" { "number" } else { "string" };
            let schema = json!({ "type": kind, "format": format });
            assert!(accepts(schema.clone(), right), "{format}");
            assert!(!accepts(schema, wrong), "{format}");
        }
    }

    #[test]
    fn every_extension_in_the_list_is_in_the_document() {
        for keyword in UNCHECKED.iter().filter(|keyword| keyword.starts_with("x-")) {
            assert!(crate::contract::DOCUMENT.contains(&format!("\"{keyword}\":")), "{keyword}");
        }
    }

    #[test]
    fn an_unsupported_keyword_or_format_is_an_error_with_its_place_at_any_depth() {
        let wide = json!({ "type": "integer", "x-even-only": true });
        let short = json!({ "type": "integer", "format": "int32" });
        for (schema, start) in [
            (json!({ "type": "object", "patternProperties": {} }), "unsupported keyword `"),
            (json!({ "properties": { "width": wide } }), "`width`: unsupported keyword `"),
            (
                json!({ "allOf": [{ "items": { "properties": { "side": wide } } }] }),
                "`side`: unsupported keyword `",
            ),
            (json!({ "properties": { "side": short } }), "`side`: unsupported format `int32` in"),
        ] {
            let error = validator(&json!({}), &schema).unwrap_err();
            assert!(error.starts_with(start), "{error}");
        }
        let document = json!({ "components": { "schemas": { "Size": wide } } });
        let error = validator(&document, &json!({ "type": "object" })).unwrap_err();
        assert!(error.starts_with("`Size`: unsupported keyword `x-even-only`"), "{error}");
    }
}
