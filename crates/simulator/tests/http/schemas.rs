//! Schemas of OpenAPI 3.0.

use std::sync::Arc;

use serde_json::{Value, json};

use imagekiln_simulator::Schema;

fn accepts(schema: Value, instance: Value) -> bool {
    let kind = json!({ "type": "string", "enum": ["a", "b"] });
    let document = json!({ "components": { "schemas": { "Kind": kind } } });
    Schema::new(&Arc::new(document), &schema).unwrap().problems(&instance).is_empty()
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
    for wrong in ["not a URL", " https://a.example", "https://a.example/a b", r"https:\\a.example"]
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
        let error = Schema::new(&Arc::default(), &schema).unwrap_err();
        assert!(error.starts_with(start), "{error}");
    }
    let document = json!({ "components": { "schemas": { "Size": wide } } });
    let error = Schema::new(&Arc::new(document), &json!({ "type": "object" })).unwrap_err();
    assert!(error.starts_with("`Size`: unsupported keyword `x-even-only`"), "{error}");
}
