//! Properties of any two documents.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{compare, service, try_compare};
use crate::diff::{
    difference::{Change, Difference},
    group, load,
};

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
        "security",
        "securitySchemes",
        "servers",
        "url",
        "variables",
        "headers",
        "prefixItems",
        "deprecated",
    ]);
    let text = prop::sample::select(vec![
        "3.0.3", "string", "#", "#/paths", "query", "path", "header", "{", "}{", "ü~/",
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

/// A random valid operation.
fn operation() -> impl Strategy<Value = Value> {
    let content = |schema: Value| json!({ "application/json": { "schema": schema } });
    let access = prop::sample::select(vec![
        json!([]),
        json!([{}]),
        json!([{ "Key": [] }]),
        json!([{ "Key": [] }, { "Token": [] }]),
        json!([{ "Key": [], "Token": [] }]),
    ]);
    let server = prop::sample::select(vec!["https://a.example", "https://b.example/", "/"]);
    let bodies =
        (prop::option::of(schema()), prop::option::of(schema()), prop::option::of(schema()));
    (any::<(bool, bool)>(), access, server, bodies).prop_map(
        move |((deprecated, required), security, url, (request, response, header))| {
            let mut operation = json!({
                "deprecated": deprecated,
                "security": security,
                "servers": [{ "url": url }],
            });
            if let Some(schema) = request {
                operation["requestBody"] =
                    json!({ "required": required, "content": content(schema) });
            }
            if let Some(schema) = response {
                operation["responses"] =
                    json!({ "200": { "content": content(schema) }, "422": {} });
            }
            if let Some(schema) = header {
                operation["responses"]["422"]["headers"]["x-id"] = json!({ "schema": schema });
            }
            operation
        },
    )
}

fn document() -> impl Strategy<Value = Value> {
    let path = prop::sample::select(vec!["/v1/a", "/v1/b", "/v1/{c}"]);
    let paths = prop::collection::vec((path, operation()), 0..3);
    paths.prop_map(|paths| {
        let paths = paths.into_iter();
        let mut document = service(
            paths
                .map(|(path, operation)| (path.to_owned(), json!({ "post": operation })))
                .collect(),
        );
        document["components"]["securitySchemes"] = json!({
            "Key": { "type": "apiKey", "in": "header", "name": "x-key" },
            "Token": { "type": "http", "scheme": "bearer" },
        });
        document
    })
}

/// The place and kind of each difference, without its mark.
fn unmarked(differences: Vec<Difference>) -> Vec<(String, Option<String>, Change)> {
    let parts = differences.into_iter();
    parts.map(|found| (found.operation, found.finding.place, found.finding.change)).collect()
}

fn mirrored(change: Change) -> Change {
    match change {
        Change::Added { what } => Change::Removed { what },
        Change::Removed { what } => Change::Added { what },
        Change::Changed { aspect, from, to } => Change::Changed { aspect, from: to, to: from },
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
    fn groups_hold_every_difference_once(from in document(), to in document()) {
        let found = compare(&from, &to);
        let groups = group::by_finding(&found);
        let mut flat = Vec::new();
        for group in &groups {
            let operations = group.operations.iter();
            flat.extend(operations.map(|operation| (operation.to_string(), group.finding.clone())));
        }
        prop_assert_eq!(flat.len(), found.len());
        for Difference { operation, finding } in found {
            prop_assert!(flat.contains(&(operation, finding)));
        }
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
