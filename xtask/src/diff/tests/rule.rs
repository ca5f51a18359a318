//! The rules for breaking differences, row by row.

use serde_json::{Value, json};

use super::{compare, described, in_request, in_response, service};
use crate::diff::difference::Mark::{self, Breaking, Compatible};

fn object(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

/// Checks the mark of a difference between two schemas of a field, in a request and in a response.
#[track_caller]
fn assert_marks(ours: Value, theirs: Value, request: Mark, response: Mark, line: &str) {
    let hold = |schema: &Value| object(json!({ "f": schema }), &[]);
    let expected = |mark, place: &str| vec![(mark, format!("{place}.f: {line}"))];
    assert_eq!(in_request(&hold(&ours), &hold(&theirs)), expected(request, "body"));
    assert_eq!(in_response(&hold(&ours), &hold(&theirs)), expected(response, "200"));
}

#[test]
fn operations_are_added_and_removed() {
    let one = service(json!({ "/v1/a": { "post": {} } }));
    let none = service(json!({}));
    assert_eq!(described(&compare(&one, &none)), [(Breaking, "removed operation".into())]);
    assert_eq!(described(&compare(&none, &one)), [(Compatible, "added operation".into())]);
}

#[test]
fn a_deprecation_is_compatible() {
    let [current, old] =
        [false, true].map(|old| service(json!({ "/v1/a": { "post": { "deprecated": old } } })));
    let deprecated = described(&compare(&current, &old));
    assert_eq!(deprecated, [(Compatible, "deprecated false -> true".into())]);
    let restored = described(&compare(&old, &current));
    assert_eq!(restored, [(Compatible, "deprecated true -> false".into())]);
}

#[test]
fn fields_are_added_and_removed() {
    let without = object(json!({}), &[]);
    let optional = object(json!({ "f": { "type": "string" } }), &[]);
    let required = object(json!({ "f": { "type": "string" } }), &["f"]);
    assert_eq!(
        in_request(&optional, &without),
        [(Breaking, "body.f: removed optional, string".into())]
    );
    assert_eq!(
        in_request(&without, &optional),
        [(Compatible, "body.f: added optional, string".into())]
    );
    assert_eq!(
        in_request(&without, &required),
        [(Breaking, "body.f: added required, string".into())]
    );
    assert_eq!(
        in_response(&required, &without),
        [(Breaking, "200.f: removed required, string".into())]
    );
    assert_eq!(
        in_response(&without, &required),
        [(Compatible, "200.f: added required, string".into())]
    );
}

#[test]
fn a_required_flag_narrows() {
    let optional = object(json!({ "f": { "type": "string" } }), &[]);
    let required = object(json!({ "f": { "type": "string" } }), &["f"]);
    assert_eq!(
        in_request(&optional, &required),
        [(Breaking, "body.f: required false -> true".into())]
    );
    assert_eq!(
        in_request(&required, &optional),
        [(Compatible, "body.f: required true -> false".into())]
    );
    assert_eq!(
        in_response(&optional, &required),
        [(Compatible, "200.f: required false -> true".into())]
    );
    assert_eq!(
        in_response(&required, &optional),
        [(Breaking, "200.f: required true -> false".into())]
    );
}

#[test]
fn bounds_narrow_and_widen() {
    let number = |keyword: &str, value: Value| json!({ "type": "number", keyword: value });
    let free = json!({ "type": "number" });
    let minimum = |value| number("minimum", json!(value));
    assert_marks(minimum(1.5), minimum(2.0), Breaking, Compatible, "minimum 1.5 -> 2");
    assert_marks(minimum(2.0), minimum(1.5), Compatible, Breaking, "minimum 2 -> 1.5");
    assert_marks(free.clone(), minimum(2.0), Breaking, Compatible, "minimum none -> 2");
    assert_marks(minimum(2.0), free, Compatible, Breaking, "minimum 2 -> none");
    let maximum = |value| number("maximum", json!(value));
    assert_marks(maximum(5), maximum(6), Compatible, Breaking, "maximum 5 -> 6");
    assert_marks(maximum(6), maximum(5), Breaking, Compatible, "maximum 6 -> 5");
    let above = number("exclusiveMinimum", json!(2));
    assert_marks(minimum(2.0), above, Breaking, Compatible, "minimum 2 -> above 2");
    let step = |value| number("multipleOf", json!(value));
    assert_marks(step(32), step(16), Compatible, Breaking, "multipleOf 32 -> 16");
    assert_marks(step(16), step(32), Breaking, Compatible, "multipleOf 16 -> 32");
    assert_marks(step(16), step(24), Breaking, Breaking, "multipleOf 16 -> 24");
}

#[test]
fn lengths_narrow_and_widen() {
    let string = |keyword: &str, value: u32| json!({ "type": "string", keyword: value });
    assert_marks(
        string("maxLength", 9),
        string("maxLength", 8),
        Breaking,
        Compatible,
        "maxLength 9 -> 8",
    );
    assert_marks(
        string("minLength", 2),
        string("minLength", 1),
        Compatible,
        Breaking,
        "minLength 2 -> 1",
    );
    let array = |keyword: &str, value: u32| json!({ "type": "array", keyword: value });
    assert_marks(
        array("maxItems", 9),
        array("maxItems", 8),
        Breaking,
        Compatible,
        "maxItems 9 -> 8",
    );
}

#[test]
fn another_pattern_or_format_is_breaking_both_ways() {
    for keyword in ["pattern", "format"] {
        let string = |text: &str| json!({ "type": "string", keyword: text });
        assert_marks(string("a"), string("b"), Breaking, Breaking, &format!("{keyword} a -> b"));
        let free = json!({ "type": "string" });
        assert_marks(free, string("b"), Breaking, Compatible, &format!("{keyword} none -> b"));
    }
}

#[test]
fn enumerations_narrow_and_widen() {
    let one_of = |values: &[&str]| json!({ "type": "string", "enum": values });
    let (two, three) = (one_of(&["jpeg", "png"]), one_of(&["jpeg", "png", "webp"]));
    let line = r#"enum "jpeg", "png" -> "jpeg", "png", "webp""#;
    assert_marks(two.clone(), three.clone(), Compatible, Breaking, line);
    let line = r#"enum "jpeg", "png", "webp" -> "jpeg", "png""#;
    assert_marks(three.clone(), two, Breaking, Compatible, line);
    let line = r#"enum "jpeg", "png", "webp" -> none"#;
    assert_marks(three, json!({ "type": "string" }), Compatible, Breaking, line);
    let (a, b) = (one_of(&["a"]), one_of(&["b"]));
    assert_marks(a, b, Breaking, Breaking, r#"enum "a" -> "b""#);
}

#[test]
fn types_narrow_and_widen() {
    let of = |name: &str| json!({ "type": name });
    assert_marks(of("integer"), of("number"), Compatible, Breaking, "type integer -> number");
    assert_marks(of("number"), of("integer"), Breaking, Compatible, "type number -> integer");
    assert_marks(of("string"), of("integer"), Breaking, Breaking, "type string -> integer");
    assert_marks(json!({}), of("integer"), Breaking, Compatible, "type any type -> integer");
    let nullable = json!({ "type": ["string", "null"] });
    assert_marks(of("string"), nullable.clone(), Compatible, Breaking, "nullable false -> true");
    assert_marks(nullable, of("string"), Breaking, Compatible, "nullable true -> false");
}

#[test]
fn unknown_fields_are_allowed_or_rejected() {
    let of = |open: bool| json!({ "type": "object", "additionalProperties": open });
    assert_marks(of(true), of(false), Breaking, Compatible, "unknown fields allowed true -> false");
    assert_marks(
        json!({ "type": "object" }),
        of(false),
        Breaking,
        Compatible,
        "unknown fields allowed true -> false",
    );
}

#[test]
fn defaults_are_compared_only_in_requests() {
    let hold = |schema: Value| object(json!({ "f": schema }), &[]);
    let two = hold(json!({ "type": "integer", "default": 2 }));
    let three = hold(json!({ "type": "integer", "default": 3 }));
    let none = hold(json!({ "type": "integer" }));
    assert_eq!(in_request(&two, &three), [(Breaking, "body.f: default 2 -> 3".into())]);
    assert_eq!(in_request(&two, &none), [(Breaking, "body.f: default 2 -> none".into())]);
    assert_eq!(in_request(&none, &two), [(Compatible, "body.f: default none -> 2".into())]);
    assert_eq!(in_response(&two, &three), []);
}

#[test]
fn status_codes_are_added_and_removed() {
    let responding = |statuses: &[&str]| {
        let responses: Value =
            statuses.iter().map(|status| ((*status).to_owned(), json!({}))).collect();
        service(json!({ "/v1/a": { "post": { "responses": responses } } }))
    };
    let (one, more) = (responding(&["200"]), responding(&["200", "202", "429"]));
    let added =
        [(Breaking, "202: added response".into()), (Compatible, "429: added response".into())];
    assert_eq!(described(&compare(&one, &more)), added);
    let removed =
        [(Breaking, "202: removed response".into()), (Compatible, "429: removed response".into())];
    assert_eq!(described(&compare(&more, &one)), removed);
}

#[test]
fn parameters_and_other_bodies_are_compared() {
    let with = |required: bool, media_type: &str| {
        service(json!({ "/v1/a": { "post": {
            "parameters": [{
                "name": "id",
                "in": "query",
                "required": required,
                "schema": { "type": "string" },
            }],
            "requestBody": { "content": { media_type: { "schema": { "type": "object" } } } },
        } } }))
    };
    let found =
        described(&compare(&with(false, "application/json"), &with(true, "multipart/form-data")));
    let expected = [
        (Breaking, "body: removed optional, object"),
        (Compatible, "body (multipart/form-data): added optional, object"),
        (Breaking, "query id: required false -> true"),
    ];
    assert_eq!(found, expected.map(|(mark, line)| (mark, line.to_owned())));
}

#[test]
fn nested_differences_have_their_place() {
    let deep = |minimum: u32| {
        let leaf = json!({ "type": "integer", "minimum": minimum });
        let list = json!({ "type": "array", "items": object(json!({ "leaf": leaf }), &[]) });
        object(json!({ "outer": object(json!({ "list": list }), &[]) }), &[])
    };
    let line = "200.outer.list[].leaf: minimum 2 -> 1".to_owned();
    assert_eq!(in_response(&deep(2), &deep(1)), [(Breaking, line)]);
}
