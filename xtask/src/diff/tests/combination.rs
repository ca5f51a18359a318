//! `allOf` is what all parts allow, `anyOf` is what any alternative allows.

use serde_json::{Value, json};

use super::in_request;

#[track_caller]
fn assert_means(combined: &Value, plain: &Value) {
    assert_eq!(in_request(combined, plain), []);
    assert_eq!(in_request(plain, combined), []);
}

fn object(field: &Value, required: bool) -> Value {
    let required = if required { json!(["f"]) } else { json!([]) };
    json!({ "type": "object", "properties": { "f": field }, "required": required })
}

#[test]
fn all_parts_keep_the_narrower_bound() {
    let parts =
        json!([{ "minimum": 1, "maximum": 9 }, { "minimum": 2, "maximum": 8 }, { "minimum": 0 }]);
    assert_means(
        &json!({ "type": "integer", "allOf": parts }),
        &json!({ "type": "integer", "minimum": 2, "maximum": 8 }),
    );
}

#[test]
fn all_parts_keep_the_common_values_and_types() {
    let parts = json!([{ "enum": ["a", "b"] }, { "enum": ["b", "c"] }]);
    assert_means(&json!({ "allOf": parts }), &json!({ "enum": ["b"] }));
    let parts = json!([{ "type": ["number", "string"] }, { "type": ["integer", "boolean"] }]);
    assert_means(&json!({ "allOf": parts }), &json!({ "type": "integer" }));
}

#[test]
fn all_parts_must_allow_null() {
    let parts = json!([{ "type": ["string", "null"] }, { "type": "string" }]);
    assert_means(&json!({ "allOf": parts }), &json!({ "type": "string" }));
}

#[test]
fn all_parts_add_their_fields_and_flags() {
    let parts = json!([
        object(&json!({ "maxLength": 9 }), true),
        object(&json!({ "type": "string" }), false)
    ]);
    assert_means(
        &json!({ "allOf": parts }),
        &object(&json!({ "type": "string", "maxLength": 9 }), true),
    );
}

#[test]
fn patterns_are_combined_in_any_order() {
    let pattern = |text: &str| json!({ "pattern": text });
    let parts = |first: &str, second: &str| json!({ "allOf": [pattern(first), pattern(second)] });
    assert_means(&parts("a", "b"), &parts("b", "a"));
    assert_ne!(in_request(&parts("a", "b"), &json!({ "pattern": "a" })), []);
}

#[test]
fn alternatives_keep_the_wider_bound() {
    let narrow = json!({ "type": "integer", "minimum": 2, "maximum": 8 });
    let branches = json!([narrow, { "type": "integer", "minimum": 1 }]);
    assert_means(&json!({ "anyOf": branches }), &json!({ "type": "integer", "minimum": 1 }));
}

#[test]
fn alternatives_join_their_values() {
    let branches = json!([{ "const": "a" }, { "const": "b" }]);
    assert_means(&json!({ "oneOf": branches }), &json!({ "enum": ["a", "b"] }));
}

#[test]
fn a_field_is_required_if_every_alternative_requires_it() {
    let string = json!({ "type": "string" });
    let branches =
        |first, second| json!({ "anyOf": [object(&string, first), object(&string, second)] });
    assert_means(&branches(true, true), &object(&string, true));
    assert_means(&branches(true, false), &object(&string, false));
}

#[test]
fn fields_and_items_are_kept_if_an_alternative_has_none() {
    let (object, array) = (
        object(&json!({ "type": "string" }), true),
        json!({ "type": "array", "items": { "type": "string" } }),
    );
    for structured in [object, array] {
        let mut either = structured.clone();
        either["type"] = json!([structured["type"], "integer"]);
        assert_means(&json!({ "anyOf": [structured, { "type": "integer" }] }), &either);
        assert_means(&json!({ "anyOf": [{ "type": "integer" }, structured] }), &either);
    }
}

#[test]
fn alternatives_reject_unknown_fields_only_if_all_do() {
    let closed = json!({ "type": "object", "additionalProperties": false });
    let open = json!({ "type": "object" });
    assert_means(&json!({ "anyOf": [closed, open] }), &open);
    assert_means(&json!({ "anyOf": [closed, closed] }), &closed);
}

#[test]
fn a_null_among_the_values_allows_null() {
    assert_means(
        &json!({ "enum": ["a", null] }),
        &json!({ "type": ["string", "null"], "enum": ["a"] }),
    );
    assert_means(
        &json!({ "type": "string", "enum": ["a", null] }),
        &json!({ "type": "string", "nullable": true, "enum": ["a"] }),
    );
}

#[test]
fn anything_or_null_is_anything() {
    let string = json!({ "type": "string" });
    let anything_or_null = json!({ "anyOf": [{}, { "type": "null" }] });
    assert_eq!(in_request(&anything_or_null, &string), in_request(&json!({}), &string));
}
