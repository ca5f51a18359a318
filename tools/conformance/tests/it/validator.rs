//! The simulator's check of schemas against a validator of JSON Schema that others keep.

use std::{cell::Cell, sync::Arc};

use imagekiln_simulator::Schema;
use jsonschema::Validator;
use proptest::{prelude::*, sample::select, test_runner::TestRunner};
use serde_json::{Map, Value, json};

/// Translates a schema of OpenAPI 3.0. The document has no other keywords that differ.
fn translate(schema: &Value) -> Value {
    let Value::Object(members) = schema else {
        return schema
            .as_array()
            .map_or(schema.clone(), |parts| parts.iter().map(translate).collect());
    };
    if let Some(reference) = members.get("$ref") {
        return json!({ "$ref": reference });
    }
    let mut translated: Map<_, _> =
        members.iter().map(|(name, member)| (name.clone(), translate(member))).collect();
    if members.get("format") == Some(&json!("int64")) {
        // -2^63 as a float is an integer slightly below it, which the parser rounded.
        translated.insert("not".to_owned(), json!({ "const": i64::MIN as f64 }));
        translated.entry("minimum").or_insert(json!(i64::MIN));
        translated.entry("maximum").or_insert(json!(i64::MAX));
    }
    if members.get("nullable") == Some(&json!(true)) && members.contains_key("type") {
        let whole = ["allOf", "anyOf", "oneOf", "enum"].map(|name| translated.remove_entry(name));
        let or_null = json!({ "if": { "type": "null" }, "else": translated });
        translated = whole.into_iter().flatten().collect();
        translated.extend(or_null.as_object().cloned().unwrap_or_default());
    }
    translated.into()
}

/// Values at and beyond the bounds of the fields, and of all types.
fn values() -> impl Strategy<Value = Value> {
    const TEXTS: [&str; 9] =
        ["", "x", "7", "jpeg", "gif", "16:9", "https://example.com/a", "nowhere", "ä"];
    prop_oneof![
        select(vec![json!(null), json!(true), json!([]), json!([1, "2", null]), json!({ "x": 1 })]),
        select(vec![json!(u64::MAX), json!(i64::MAX), json!(1e300), json!(-1e19), json!(64.0)]),
        (-10i64..3000).prop_map(Value::from),
        (-100i32..30_000).prop_map(|hundredths| json!(f64::from(hundredths) / 100.0)),
        select(&TEXTS[..]).prop_map(Value::from),
        (0usize..3000).prop_map(|length| "ä".repeat(length).into()),
    ]
}

/// Bodies with the fields of a schema and one that it does not have. Half of them have their
/// defaults, so that others can be the only problem.
fn bodies(schema: &Value) -> impl Strategy<Value = Value> + use<> {
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let mut names: Vec<_> = properties.keys().cloned().collect();
    names.push("unlisted".to_owned());
    let field = move |name: String| {
        let default = properties.get(&name).and_then(|field| field.get("default")).cloned();
        let given = prop_oneof![
            1 => values().prop_map(Some),
            3 => Just(default),
        ];
        given.prop_map(move |value| value.map(|value| (name.clone(), value)))
    };
    let fields: Vec<_> = names.into_iter().map(field).collect();
    let object =
        fields.prop_map(|fields| fields.into_iter().flatten().collect::<Map<_, _>>().into());
    prop_oneof![9 => object, 1 => values()]
}

#[test]
fn a_json_schema_validator_accepts_the_same_bodies() {
    let document: Value = serde_json::from_str(include_str!("../../../../openapi.json")).unwrap();
    let document = Arc::new(document);
    let components = translate(&document["components"]);
    let (accepted, refused) = (Cell::new(0), Cell::new(0));
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let reference = format!("#/components/schemas/{name}");
        let root = json!({ "$ref": reference, "components": components });
        let theirs: Validator =
            jsonschema::options().should_validate_formats(false).build(&root).unwrap();
        let ours = Schema::new(&document, &json!({ "$ref": reference })).unwrap();
        TestRunner::deterministic()
            .run(&bodies(schema), |body| {
                let problems = ours.problems(&body);
                // URLs are checked as the service does, more strictly than a validator.
                let rules: Vec<_> =
                    problems.iter().filter(|(_, msg)| !msg.ends_with("valid URL")).collect();
                prop_assert_eq!(rules.is_empty(), theirs.is_valid(&body), "{}: {:?}", name, rules);
                let count = if rules.is_empty() { &accepted } else { &refused };
                count.set(count.get() + 1);
                Ok(())
            })
            .unwrap();
    }
    // The bodies are of both kinds.
    let (accepted, refused) = (accepted.get(), refused.get());
    assert!(accepted > 1000 && refused > 1000, "{accepted} accepted, {refused} refused");
}
