//! The effects on the Rust API, row by row.

use serde_json::{Value, json};

use super::{compare, exchange, line, service};
use crate::diff::{
    difference::Difference,
    rust_api::Effect::{self, Additive, Breaking, None},
};

fn effects(differences: &[Difference]) -> Vec<(Effect, String)> {
    differences.iter().map(|difference| (difference.finding.rust, line(difference))).collect()
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

/// Checks the effects of the only difference between two schemas, in a request and in a response.
#[track_caller]
fn assert_effects(from: &Value, to: &Value, request: Effect, response: Effect) {
    let anything = json!({});
    for (effect, found) in [
        (request, compare(&exchange(from, &anything), &exchange(to, &anything))),
        (response, compare(&exchange(&anything, from), &exchange(&anything, to))),
    ] {
        let effects: Vec<_> = effects(&found).into_iter().map(|(effect, _)| effect).collect();
        assert_eq!(effects, [effect], "{from} -> {to}");
    }
}

/// The same for two schemas of an optional field.
#[track_caller]
fn assert_field_effects(from: Value, to: Value, request: Effect, response: Effect) {
    let hold = |schema: Value| object(json!({ "f": schema }), &[]);
    assert_effects(&hold(from), &hold(to), request, response);
}

#[test]
fn operations_come_and_go() {
    let one = service(json!({ "/v1/a": { "post": {} } }));
    let none = service(json!({}));
    assert_eq!(effects(&compare(&one, &none)), [(Breaking, "removed operation".into())]);
    assert_eq!(effects(&compare(&none, &one)), [(Additive, "added operation".into())]);
}

#[test]
fn fields_come_and_go() {
    let without = object(json!({}), &[]);
    let optional = object(json!({ "f": { "type": "string" } }), &[]);
    let required = object(json!({ "f": { "type": "string" } }), &["f"]);
    assert_effects(&without, &optional, Additive, Additive);
    assert_effects(&without, &required, Breaking, Additive);
    assert_effects(&optional, &without, Breaking, Breaking);
    assert_effects(&optional, &required, Breaking, Breaking);
    assert_effects(&required, &optional, Breaking, Breaking);
}

#[test]
fn null_makes_an_option_of_a_required_field_of_a_response() {
    let of = |kind: Value, required: &[&str]| object(json!({ "f": { "type": kind } }), required);
    let null = json!(["string", "null"]);
    assert_effects(&of(json!("string"), &[]), &of(null.clone(), &[]), None, None);
    assert_effects(&of(json!("string"), &["f"]), &of(null.clone(), &["f"]), None, Breaking);
    assert_effects(&of(null.clone(), &["f"]), &of(null.clone(), &[]), Breaking, None);
    let list = |items: &Value| json!({ "type": "array", "items": { "type": items } });
    assert_field_effects(list(&json!("string")), list(&null), None, Breaking);
}

#[test]
fn types_change_the_api() {
    let (string, integer) = (json!({ "type": "string" }), json!({ "type": "integer" }));
    assert_field_effects(string, integer.clone(), Breaking, Breaking);
    assert_field_effects(integer, json!({ "type": "number" }), Breaking, Breaking);
}

#[test]
fn a_new_value_is_a_new_variant() {
    let one_of = |values: &[&str]| json!({ "type": "string", "enum": values });
    let (one, two) = (one_of(&["a"]), one_of(&["a", "b"]));
    assert_field_effects(one.clone(), two.clone(), Additive, None);
    assert_field_effects(two.clone(), one.clone(), Breaking, None);
    assert_field_effects(one.clone(), one_of(&["b"]), Breaking, None);
    let string = json!({ "type": "string" });
    assert_field_effects(one.clone(), string.clone(), Breaking, None);
    assert_field_effects(string, one, Breaking, None);
}

#[test]
fn limits_do_not_change_the_api() {
    let limits = [
        ("string", "maxLength", json!(9)),
        ("string", "pattern", json!("a")),
        ("integer", "minimum", json!(1)),
        ("integer", "multipleOf", json!(2)),
        ("object", "additionalProperties", json!(false)),
    ];
    for (kind, keyword, limit) in limits {
        let limited = json!({ "type": kind, keyword: limit });
        assert_field_effects(json!({ "type": kind }), limited, None, None);
    }
    let request = |default: u32| exchange(&json!({ "default": default }), &json!({}));
    let found = effects(&compare(&request(1), &request(2)));
    assert_eq!(found, [(None, "body: default 1 -> 2".into())]);
}

#[test]
fn a_format_selects_a_type_of_strings_in_requests_and_numbers_in_responses() {
    let with = |kind: &str, format: &str| json!({ "type": kind, "format": format });
    let string = json!({ "type": "string" });
    assert_field_effects(string, with("string", "uri"), Breaking, None);
    let property = |format: &str| json!({ "properties": { "f": with("integer", format) } });
    let of = |format: &str| {
        (exchange(&property(format), &json!({})), exchange(&json!({}), &property(format)))
    };
    let ((old_request, old_response), (new_request, new_response)) = (of("int32"), of("int64"));
    assert_eq!(effects(&compare(&old_request, &new_request)), []);
    assert_eq!(effects(&compare(&old_response, &new_response))[0].0, Breaking);
}

#[test]
fn a_deprecation_is_a_warning() {
    let of = |deprecated: bool| json!({ "type": "string", "deprecated": deprecated });
    assert_field_effects(of(false), of(true), Additive, Additive);
    assert_field_effects(of(true), of(false), None, None);
    let [current, old] =
        [false, true].map(|old| service(json!({ "/v1/a": { "post": { "deprecated": old } } })));
    assert_eq!(effects(&compare(&current, &old))[0].0, Additive);
}

#[test]
fn failures_servers_and_headers_have_no_types() {
    let responding =
        |responses: Value| service(json!({ "/v1/a": { "post": { "responses": responses } } }));
    let header = json!({ "x-id": { "required": true, "schema": { "enum": ["a"] } } });
    let other = json!({ "x-id": { "schema": { "type": ["integer", "null"], "format": "f" } } });
    let with = |headers: &Value| responding(json!({ "200": { "headers": headers } }));
    for (from, to) in [
        (with(&header), with(&other)),
        (with(&json!({})), with(&header)),
        (with(&header), with(&json!({}))),
        (responding(json!({})), responding(json!({ "403": {} }))),
        (responding(json!({ "403": {} })), responding(json!({}))),
    ] {
        let found = compare(&from, &to);
        assert!(!found.is_empty());
        assert!(found.iter().all(|found| found.finding.rust == None), "{:?}", effects(&found));
    }
    let success = responding(json!({ "200": {} }));
    let both = responding(json!({ "200": {}, "202": {} }));
    assert_eq!(effects(&compare(&success, &both)), [(Additive, "202: added response".into())]);
    assert_eq!(effects(&compare(&both, &success)), [(Breaking, "202: removed response".into())]);
}
