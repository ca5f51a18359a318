//! Properties of any two documents.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{compare, comparison, exchange, service};
use crate::diff::{
    compare::{Change, Difference},
    load,
};

/// Random JSON, in which many names are meaningful.
fn any_json() -> impl Strategy<Value = Value> {
    let words = |words: &'static str| prop::sample::select(words.split(' ').collect::<Vec<_>>());
    let name = words(
        "openapi paths /v1/a get post parameters requestBody responses content application/json \
         schema type properties required items enum const default anyOf allOf $ref nullable \
         minimum exclusiveMinimum components 200 name in security securitySchemes servers url \
         variables headers prefixItems deprecated",
    );
    let text = words("3.0.3 string # #/paths query path header { }{ ü~/");
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 5, move |inner| {
        let member = (name.clone().prop_map(str::to_owned), inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            prop::collection::vec(member, 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A random valid schema.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop::sample::select(vec![
        json!({}),
        json!({ "type": "string" }),
        json!({ "type": "number", "deprecated": true }),
        json!({ "type": "integer", "minimum": 1 }),
        json!({ "type": ["integer", "null"], "minimum": 2, "exclusiveMaximum": 5 }),
        json!({ "enum": ["a", "b"], "default": "a" }),
        json!({ "enum": ["b", null], "format": "f" }),
    ]);
    leaf.prop_recursive(3, 24, 4, |inner| {
        let property = (prop::sample::select(vec!["a", "b", "c"]), inner.clone(), any::<bool>());
        let object = (prop::collection::vec(property, 0..4), any::<bool>());
        let object = object.prop_map(|(list, open)| {
            let required: Vec<_> =
                list.iter().filter(|(.., required)| *required).map(|(name, ..)| *name).collect();
            let properties: Map<_, _> =
                list.iter().map(|(name, schema, _)| ((*name).to_owned(), schema.clone())).collect();
            json!({
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": open,
            })
        });
        prop_oneof![
            object,
            inner.clone().prop_map(|items| json!({ "type": "array", "items": items })),
            (inner.clone(), inner.clone())
                .prop_map(|(a, b)| json!({ "anyOf": [a, b, { "type": "null" }] })),
            (inner.clone(), inner).prop_map(|(a, b)| json!({ "allOf": [a, b] })),
        ]
    })
}

/// A random valid document with up to two operations.
fn document() -> impl Strategy<Value = Value> {
    let path = prop::sample::select(vec!["/v1/a", "/v1/b", "/v1/{c}"]);
    let further = prop::sample::select(vec![
        json!({}),
        json!({ "deprecated": true, "servers": [{ "url": "https://a.example" }] }),
        json!({ "security": [{ "Key": [] }], "servers": [{ "url": "/" }] }),
        json!({ "security": [{ "Key": [] }, { "Token": [] }] }),
        json!({ "security": [{ "Key": [], "Token": [] }], "responses": {
            "422": { "headers": { "x-id": { "schema": { "type": "string" } } } },
        } }),
    ]);
    let operation = (path, schema(), schema(), further);
    prop::collection::vec(operation, 0..3).prop_map(|operations| {
        let mut document = service(json!({}));
        for (path, request, response, further) in operations {
            let mut operation = exchange(&request, &response)["paths"]["/v1/a"]["post"].take();
            operation.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
            document["paths"][path]["post"] = operation;
        }
        document["components"]["securitySchemes"] = json!({
            "Key": { "type": "apiKey", "in": "header", "name": "x-key" },
            "Token": { "type": "http", "scheme": "bearer" },
        });
        document
    })
}

/// The operation, place and kind of each difference, without its mark. Differences that only the
/// mark tells apart are not in the same order in both directions.
fn unmarked(differences: &[Difference], mirror: bool) -> Vec<String> {
    let each = differences.iter().flat_map(|found| {
        let change = if mirror { mirrored(&found.change) } else { format!("{:?}", found.change) };
        let place = &found.place;
        found.operations.iter().map(move |operation| format!("{operation} {place} {change}"))
    });
    let mut each: Vec<_> = each.collect();
    each.sort();
    each
}

fn mirrored(change: &Change) -> String {
    let text = |change| format!("{change:?}");
    match change.clone() {
        Change::Added { what } => text(Change::Removed { what }),
        Change::Removed { what } => text(Change::Added { what }),
        Change::Changed { aspect, from, to } => {
            text(Change::Changed { aspect, from: to, to: from })
        }
    }
}

proptest! {
    #[test]
    fn a_document_does_not_differ_from_itself(document in document()) {
        prop_assert_eq!(compare(&document, &document), vec![]);
    }

    #[test]
    fn swapping_the_documents_mirrors_the_differences(ours in document(), theirs in document()) {
        let there = compare(&ours, &theirs);
        let back = compare(&theirs, &ours);
        prop_assert_eq!(unmarked(&there, false), unmarked(&back, true));
    }

    #[test]
    fn yaml_and_json_are_read_alike(document in document()) {
        // Any JSON is YAML, once it does not start with a brace.
        let yaml = format!("---\n{document}");
        prop_assert_eq!(load::parse(&yaml).expect("could not parse the document"), document);
    }

    #[test]
    fn no_text_panics(text in r"[-?:,\[\]{}#&*!|>'%@`a-c0-9 \n.]{0,60}") {
        let _ = load::parse(&text);
    }

    #[test]
    fn no_json_panics(ours in any_json(), theirs in any_json(), schema in any_json()) {
        let _ = comparison(&ours, &theirs, None);
        let _ = comparison(&service(ours), &service(theirs), None);
        let _ = comparison(&exchange(&schema, &schema), &exchange(&json!({}), &schema), None);
    }
}
