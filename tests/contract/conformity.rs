//! What holds for the document as a whole, whatever its tables say.

use crate::document::{each_operation, flattened, referred, request_schema};
use crate::{DOCUMENT, listing, openapi};
use serde_json::Value;
use std::collections::BTreeSet;

#[test]
fn it_parses_as_openapi() {
    let parsed: openapiv3::OpenAPI =
        serde_json::from_str(DOCUMENT).expect("openapi.json is an OpenAPI document");
    assert!(parsed.openapi.starts_with("3.0."), "{}", parsed.openapi);
    assert_eq!(parsed.info.version, "0.0.1");
    assert_eq!(parsed.operations().count(), 29);
}

#[test]
fn every_operation_has_a_name_and_says_what_it_does() {
    let document = openapi();
    let mut names = BTreeSet::new();
    for (method, path, operation) in each_operation(&document) {
        for key in ["operationId", "summary", "description"] {
            assert!(is_text(&operation[key]), "{method} {path}: no {key}");
        }
        assert!(
            names.insert(operation["operationId"].as_str()),
            "{method} {path}: its operationId is taken"
        );
    }
}

#[test]
fn every_reference_resolves() {
    let document = openapi();
    let mut dangling = Vec::new();
    each_key(&document, "$ref", "", &mut |place, reference| {
        if reference.as_str().and_then(|reference| referred(&document, reference)).is_none() {
            dangling.push(format!("{place}: {reference}"));
        }
    });
    assert!(dangling.is_empty(), "{dangling:#?}");
}

#[test]
fn every_operation_documents_its_answers() {
    let document = openapi();
    for (method, path, operation) in each_operation(&document) {
        let answers: BTreeSet<_> =
            operation["responses"].as_object().expect("responses").keys().cloned().collect();
        assert_eq!(
            answers,
            BTreeSet::from(["200", "403", "422"].map(String::from)),
            "{method} {path}"
        );
        let invalid = flattened(&document, &operation["responses"]["422"]);
        let schema = &invalid["content"]["application/json"]["schema"];
        assert_eq!(schema["$ref"], "#/components/schemas/HTTPValidationError", "{method} {path}");
    }
}

#[test]
fn every_request_carries_the_key_in_its_header() {
    let document = openapi();
    let schemes = document["components"]["securitySchemes"].as_object().expect("securitySchemes");
    let (name, scheme) = schemes.iter().next().expect("a scheme");
    assert_eq!(
        (&scheme["type"], &scheme["in"], &scheme["name"]),
        (&"apiKey".into(), &"header".into(), &"x-key".into())
    );
    assert_eq!(document["security"], serde_json::json!([{ name: [] }]));
    for (method, path, operation) in each_operation(&document) {
        assert!(operation.get("security").is_none(), "{method} {path} has a rule of its own");
    }
}

#[test]
fn the_second_try_on_shares_the_schema_of_the_first() {
    let document = openapi();
    let schema = |version: &str| {
        let operation = &document["paths"][format!("/v1/gen-tools/vto-{version}")]["post"];
        request_schema(operation).expect("a body")["$ref"].clone()
    };
    assert_eq!(schema("v1"), "#/components/schemas/GenToolsVtoV1");
    assert_eq!(schema("v1"), schema("v2"));
}

#[test]
fn every_output_format_is_the_common_enumeration() {
    let document = openapi();
    let mut seen = 0;
    each_key(&document["components"]["schemas"], "output_format", "", &mut |place, property| {
        seen += 1;
        assert_eq!(property["allOf"][0]["$ref"], "#/components/schemas/OutputFormat", "{place}");
    });
    assert!(seen > 0);
}

#[test]
fn what_the_interface_leaves_open_is_open_and_said() {
    let document = openapi();
    let mut faults = Vec::new();
    for (path, what) in listing::not_shown() {
        let operation = &document["paths"][path]["post"];
        let schema = request_schema(operation)
            .map(|schema| flattened(&document, schema))
            .unwrap_or_default();
        let said = schema.contains_key("x-not-shown");
        match what {
            "response" if !said && operation.get("x-not-shown").is_none() => {
                faults.push(format!("{path}: nothing says that the answer is not shown"));
            }
            "response" => {}
            _ if !said => faults.push(format!("{path}: no x-not-shown, and {what} are not shown")),
            _ => {}
        }
        let open = schema.get("additionalProperties");
        if what.ends_with("fields")
            && !open.is_some_and(|open| *open == true || *open == serde_json::json!({}))
        {
            faults.push(format!("{path}: additionalProperties is not open"));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn every_not_shown_lists_what() {
    each_key(&openapi(), "x-not-shown", "", &mut |place, list| {
        assert!(is_list_of_texts(list), "{place}: {list}");
    });
}

#[test]
fn every_correction_says_what_was_listed_what_was_chosen_and_why() {
    let mut seen = 0;
    each_key(&openapi(), "x-correction", "", &mut |place, corrections| {
        seen += 1;
        let corrections = corrections.as_array().unwrap_or_else(|| panic!("{place} is no array"));
        assert!(!corrections.is_empty(), "{place} is empty");
        assert!(
            place.starts_with("/components/schemas/") || place.starts_with("/paths/"),
            "{place}"
        );
        for correction in corrections {
            assert!(is_list_of_texts(&correction["listings"]), "{place}: {correction}");
            assert!(
                is_text(&correction["chosen"]) && is_text(&correction["why"]),
                "{place}: {correction}"
            );
        }
    });
    assert!(seen > 0);
}

#[test]
fn a_default_outside_its_bounds_is_set_apart_and_corrected() {
    let document = openapi();
    for schema in document["components"]["schemas"].as_object().expect("schemas").values() {
        for (field, property) in schema["properties"].as_object().into_iter().flatten() {
            let fits = |default: &Value| {
                let Some(default) = default.as_f64() else {
                    return true;
                };
                property["minimum"].as_f64().is_none_or(|minimum| default >= minimum)
                    && property["maximum"].as_f64().is_none_or(|maximum| default <= maximum)
            };
            assert!(fits(&property["default"]), "{field}: the default lies outside the bounds");
            if let Some(default) = property.get("x-default") {
                assert!(!fits(default), "{field}: this default can stand under `default`");
                assert!(
                    property.get("x-correction").is_some(),
                    "{field}: x-default without x-correction"
                );
                assert!(property.get("default").is_none(), "{field}: two defaults");
            }
        }
    }
}

/// Calls `visit` with the pointer and the value of every member called `key`, at any depth.
fn each_key(value: &Value, key: &str, place: &str, visit: &mut dyn FnMut(&str, &Value)) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let place = format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"));
                if name == key {
                    visit(&place, member);
                }
                each_key(member, key, &place, visit);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                each_key(item, key, &format!("{place}/{index}"), visit);
            }
        }
        _ => {}
    }
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.trim().is_empty())
}

fn is_list_of_texts(value: &Value) -> bool {
    value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(is_text))
}
