//! One line for a change in many operations.

use serde_json::{Value, json};

use super::{compare, line, service};
use crate::diff::{difference::Difference, group, row::rows, shorten};

/// A service with operations that share a component, or have their own copy of it.
fn sharing(names: &[&str], shared: bool, schema: &Value) -> Value {
    let component = json!({ "$ref": "#/components/schemas/Body" });
    let content =
        json!({ "application/json": { "schema": if shared { &component } else { schema } } });
    let operation = |name: &&str| {
        (format!("/v1/{name}"), json!({ "post": { "requestBody": { "content": content } } }))
    };
    let mut service = service(names.iter().map(operation).collect());
    service["components"]["schemas"]["Body"] = schema.clone();
    service
}

fn schema(maximum: u32) -> Value {
    let bounded = json!({ "type": "integer", "maximum": maximum });
    json!({ "type": "object", "properties": { "steps": bounded, "width": bounded } })
}

fn lines(differences: &[Difference]) -> Vec<String> {
    let groups = group::by_finding(differences);
    let operations: std::collections::BTreeSet<_> =
        differences.iter().map(|difference| difference.operation.clone()).collect();
    let common: Vec<_> = operations.into_iter().collect();
    rows(&groups).iter().map(|row| row.text(&common).trim().to_owned()).collect()
}

#[test]
fn a_change_of_a_component_is_one_group() {
    let names = ["gen-a", "gen-b", "gen-c"];
    for shared in [true, false] {
        let found =
            compare(&sharing(&names, true, &schema(9)), &sharing(&names, shared, &schema(8)));
        assert_eq!(found.len(), 6);
        let groups = group::by_finding(&found);
        assert_eq!(groups.len(), 2);
        assert_eq!(groups[0].operations, ["POST /v1/gen-a", "POST /v1/gen-b", "POST /v1/gen-c"]);
        assert_eq!(line(&found[0]), "body.steps: maximum 9 -> 8");
        let line = "Rust none      body.steps, body.width: maximum: 9 -> 8 [all 3 operations]";
        assert_eq!(lines(&found), [line]);
    }
}

#[test]
fn different_changes_stay_apart() {
    let from = sharing(&["gen-a", "gen-b"], false, &schema(9));
    let mut to = sharing(&["gen-a", "gen-b"], false, &schema(8));
    let body = &mut to["paths"]["/v1/gen-b"]["post"]["requestBody"];
    let schema = &mut body["content"]["application/json"]["schema"];
    schema["properties"]["steps"]["maximum"] = json!(7);
    let expected = [
        "Rust none      body.width: maximum: 9 -> 8 [all 2 operations]",
        "Rust none      body.steps: maximum: 9 -> 8 [gen-a]",
        "Rust none      body.steps: maximum: 9 -> 7 [gen-b]",
    ];
    assert_eq!(lines(&compare(&from, &to)), expected);
}

#[test]
fn operations_are_named_or_counted() {
    let names: Vec<_> = (0..30).map(|index| format!("gen-{index:02}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let from = sharing(&names, true, &json!({ "type": "string" }));
    let all = compare(&from, &sharing(&names, true, &json!({ "type": "integer" })));
    assert_eq!(lines(&all), ["Rust breaking  body: type: string -> integer [all 30 operations]"]);
    let groups = group::by_finding(&all[..20]);
    let common: Vec<_> = names.iter().map(|name| format!("POST /v1/{name}")).collect();
    let text = rows(&groups)[0].text(&common);
    assert!(text.ends_with("[gen-00, gen-01, gen-02, gen-03, gen-04 and 15 more]"), "{text}");
    let groups = group::by_finding(&all[..28]);
    let text = rows(&groups)[0].text(&common);
    assert!(text.ends_with("[all except gen-28, gen-29]"), "{text}");
}

#[test]
fn an_enumeration_shows_only_what_changed() {
    let one_of = |values: &[&str]| json!({ "type": "string", "enum": values });
    let found = compare(
        &sharing(&["a"], true, &one_of(&["a, b", "c", "d"])),
        &sharing(&["a"], true, &one_of(&["c", "d", "e"])),
    );
    assert_eq!(lines(&found), [r#"Rust breaking  body: enum: - "a, b", + "e" [a]"#]);
}

#[test]
fn lists_are_shortened_to_the_width() {
    let names = ["one", "two", "three"].map(str::to_owned);
    assert_eq!(shorten::list(&names, 15), "one, two, three");
    assert_eq!(shorten::list(&names, 14), "one and 2 more");
    assert_eq!(shorten::list(&names, 0), "one and 2 more");
    assert_eq!(shorten::list(&[], 9), "");
}

#[test]
fn long_values_show_where_they_differ() {
    let pair = |from: &str, to: &str, width| shorten::pair([from, to], width);
    assert_eq!(pair("short", "other", 10), ["short", "other"]);
    let (from, to) = ("0123456789abcdefghijklmnop", "0123456789abcdefghijklmXop");
    assert_eq!(pair(from, to, 24), ["…hijklmnop", "…hijklmXop"]);
    assert_eq!(pair("abcdefghijklmnop", "x", 13), ["abcdefghijk…", "x"]);
    assert_eq!(pair("ääääääääääää", "öää", 8), ["ääää…", "öää"]);
}
