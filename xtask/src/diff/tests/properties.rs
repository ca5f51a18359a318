//! Properties of any two documents.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{compare, service, try_compare};
use crate::diff::compare::{Change, Difference};

/// Random JSON, in which many names are meaningful.
fn any_json() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec![
        "openapi",
        "paths",
        "/v1/a",
        "get",
        "post",
        "parameters",
        "requestBody",
        "responses",
        "content",
        "application/json",
        "schema",
        "type",
        "properties",
        "required",
        "items",
        "enum",
        "const",
        "default",
        "anyOf",
        "allOf",
        "$ref",
        "nullable",
        "minimum",
        "exclusiveMinimum",
        "components",
        "200",
        "name",
        "in",
    ]);
    let text = prop::sample::select(vec![
        "3.0.3", "string", "#", "#/paths", "query", "path", "{", "}{", "ü~/",
    ]);
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
    let number = (prop::option::of(0..4), prop::option::of(4..8), any::<bool>()).prop_map(
        |(minimum, maximum, null)| {
            let mut schema =
                json!({ "type": if null { json!(["integer", "null"]) } else { json!("integer") } });
            minimum.into_iter().for_each(|minimum| schema["minimum"] = json!(minimum));
            maximum.into_iter().for_each(|maximum| schema["exclusiveMaximum"] = json!(maximum));
            schema
        },
    );
    let choice = prop::sample::subsequence(vec!["a", "b", "c"], 1..=3)
        .prop_map(|values| json!({ "type": "string", "enum": values, "default": values[0] }));
    let leaf = prop_oneof![
        number,
        choice,
        prop_oneof![Just("string"), Just("number"), Just("boolean")]
            .prop_map(|name| json!({ "type": name })),
        Just(json!({})),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let property = (prop::sample::select(vec!["a", "b", "c"]), inner.clone(), any::<bool>());
        let object = (prop::collection::vec(property, 0..4), any::<bool>());
        let object = object.prop_map(|(list, closed)| {
            let required: Vec<_> =
                list.iter().filter(|(.., required)| *required).map(|(name, ..)| *name).collect();
            let properties: Map<_, _> =
                list.iter().map(|(name, schema, _)| ((*name).to_owned(), schema.clone())).collect();
            json!({
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": !closed,
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

fn document() -> impl Strategy<Value = Value> {
    let operation =
        (any::<bool>(), prop::option::of(schema()), prop::option::of(schema()), any::<bool>())
            .prop_map(|(deprecated, request, response, required)| {
                let mut operation = json!({ "deprecated": deprecated });
                if let Some(schema) = request {
                    let content = json!({ "application/json": { "schema": schema } });
                    operation["requestBody"] = json!({ "required": required, "content": content });
                }
                if let Some(schema) = response {
                    let content = json!({ "application/json": { "schema": schema } });
                    operation["responses"] = json!({ "200": { "content": content }, "422": {} });
                }
                operation
            });
    let path = prop::sample::select(vec!["/v1/a", "/v1/b", "/v1/{c}"]);
    let paths = prop::collection::vec((path, operation), 0..3);
    paths.prop_map(|paths| {
        service(
            paths
                .into_iter()
                .map(|(path, operation)| (path.to_owned(), json!({ "post": operation })))
                .collect(),
        )
    })
}

/// The place and kind of each difference, without its mark.
fn unmarked(differences: Vec<Difference>) -> Vec<(String, Option<String>, Change)> {
    let parts = differences.into_iter().map(|found| (found.operation, found.place, found.change));
    parts.collect()
}

fn mirrored(change: Change) -> Change {
    match change {
        Change::Added { what } => Change::Removed { what },
        Change::Removed { what } => Change::Added { what },
        Change::Changed { aspect, ours, theirs } => {
            Change::Changed { aspect, ours: theirs, theirs: ours }
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
        let there = unmarked(compare(&ours, &theirs));
        let back = unmarked(compare(&theirs, &ours)).into_iter();
        let back: Vec<_> = back
            .map(|(operation, place, change)| (operation, place, mirrored(change)))
            .collect();
        prop_assert_eq!(there, back);
    }

    #[test]
    fn no_json_panics(ours in any_json(), theirs in any_json()) {
        let _ = try_compare(&ours, &theirs);
    }

    #[test]
    fn no_paths_and_schemas_panic(paths in any_json(), schema in any_json()) {
        let document = service(paths);
        let _ = try_compare(&document, &document);
        let document = super::exchange(&schema, &schema);
        let _ = try_compare(&document, &document);
    }
}
