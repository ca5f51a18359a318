//! Checks of the document as a whole, independent of the lists.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    DOCUMENT,
    document::{each_operation, flattened, referred, request_schema},
    listing, openapi,
};

#[test]
fn the_document_parses_as_openapi() {
    let parsed: openapiv3::OpenAPI =
        serde_json::from_str(DOCUMENT).expect("openapi.json is an OpenAPI document");
    assert!(parsed.openapi.starts_with("3.0."), "{}", parsed.openapi);
    assert_eq!(parsed.info.version, "0.0.1");
    assert_eq!(parsed.operations().count(), 29);
}

#[test]
fn every_operation_has_an_id_and_a_description() {
    let document = openapi();
    let mut names = BTreeSet::new();
    for (method, path, operation) in each_operation(&document) {
        for key in ["operationId", "summary", "description"] {
            assert!(is_text(&operation[key]), "{method} {path}: no {key}");
        }
        assert!(
            names.insert(operation["operationId"].as_str()),
            "{method} {path}: its operationId is not unique"
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
fn every_operation_documents_its_responses() {
    let document = openapi();
    for (method, path, operation) in each_operation(&document) {
        let responses: BTreeSet<_> =
            operation["responses"].as_object().expect("responses").keys().cloned().collect();
        assert_eq!(
            responses,
            BTreeSet::from(["200", "403", "422"].map(String::from)),
            "{method} {path}"
        );
        let invalid = flattened(&document, &operation["responses"]["422"]);
        let schema = &invalid["content"]["application/json"]["schema"];
        assert_eq!(schema["$ref"], "#/components/schemas/HTTPValidationError", "{method} {path}");
    }
}

#[test]
fn every_request_has_the_key_header() {
    let document = openapi();
    let schemes = document["components"]["securitySchemes"].as_object().expect("securitySchemes");
    let (name, scheme) = schemes.iter().next().expect("a scheme");
    assert_eq!(
        (&scheme["type"], &scheme["in"], &scheme["name"]),
        (&"apiKey".into(), &"header".into(), &"x-key".into())
    );
    assert_eq!(document["security"], serde_json::json!([{ name: [] }]));
    for (method, path, operation) in each_operation(&document) {
        assert!(operation.get("security").is_none(), "{method} {path} has its own security rule");
    }
}

#[test]
fn both_try_on_operations_share_a_schema() {
    let document = openapi();
    let schema = |version: &str| {
        let operation = &document["paths"][format!("/v1/gen-tools/vto-{version}")]["post"];
        request_schema(operation).expect("a body")["$ref"].clone()
    };
    assert_eq!(schema("v1"), "#/components/schemas/GenToolsVtoV1");
    assert_eq!(schema("v1"), schema("v2"));
}

#[test]
fn every_output_format_uses_the_common_enum() {
    let document = openapi();
    let mut seen = 0;
    each_key(&document["components"]["schemas"], "output_format", "", &mut |place, property| {
        seen += 1;
        assert_eq!(property["allOf"][0]["$ref"], "#/components/schemas/OutputFormat", "{place}");
    });
    assert!(seen > 0);
}

#[test]
fn undefined_parts_are_unrestricted_and_listed() {
    let document = openapi();
    let mut problems = Vec::new();
    for (path, what) in listing::not_shown() {
        let operation = &document["paths"][path]["post"];
        let schema = request_schema(operation)
            .map(|schema| flattened(&document, schema))
            .unwrap_or_default();
        let is_listed = schema.contains_key("x-not-shown");
        match what {
            "response" if !is_listed && operation.get("x-not-shown").is_none() => {
                problems.push(format!("{path}: x-not-shown does not list the response"));
            }
            "response" => {}
            _ if !is_listed => problems.push(format!("{path}: x-not-shown does not list {what}")),
            _ => {}
        }
        let open = schema.get("additionalProperties");
        if what.ends_with("fields")
            && !open.is_some_and(|open| *open == true || *open == serde_json::json!({}))
        {
            problems.push(format!("{path}: additionalProperties is restricted"));
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn every_not_shown_extension_lists_gaps() {
    each_key(&openapi(), "x-not-shown", "", &mut |place, list| {
        assert!(is_list_of_texts(list), "{place}: {list}");
    });
}

#[test]
fn every_correction_has_listings_choice_and_reason() {
    let mut seen = 0;
    each_key(&openapi(), "x-correction", "", &mut |place, corrections| {
        seen += 1;
        let corrections =
            corrections.as_array().unwrap_or_else(|| panic!("{place} is not an array"));
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
fn defaults_outside_their_bounds_are_marked_as_corrections() {
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
            assert!(fits(&property["default"]), "{field}: the default is outside the bounds");
            if let Some(default) = property.get("x-default") {
                assert!(!fits(default), "{field}: this default can be a `default`");
                assert!(
                    property.get("x-correction").is_some(),
                    "{field}: x-default without x-correction"
                );
                assert!(property.get("default").is_none(), "{field}: two defaults");
            }
        }
    }
}

/// Calls `visit` with the pointer and the value of every member named `key`, at any depth.
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
