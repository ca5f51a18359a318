//! The rules for operations, parameters, responses, authentication and servers, row by row.

use serde_json::{Value, json};

use super::{compare, comparison, service, there_and_back};

/// Pairs of operations.
fn operations() -> Value {
    let text = json!({ "schema": { "type": "string" } });
    let parameter = |further: Value| {
        let mut parameter = json!({ "in": "query", "name": "q", "schema": { "type": "string" } });
        parameter.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
        json!({ "parameters": [parameter] })
    };
    let header =
        |header: Value| json!({ "responses": { "200": { "headers": { "X-Id": header } } } });
    json!([
        [{}, { "deprecated": true }],
        [{}, parameter(json!({}))],
        [parameter(json!({})), parameter(json!({ "required": true }))],
        [parameter(json!({})), parameter(json!({ "deprecated": true }))],
        [
            { "requestBody": { "content": { "application/json": text } } },
            { "requestBody": { "content": { "multipart/form-data": text } } },
        ],
        [
            { "requestBody": { "content": { "application/json": text } } },
            { "requestBody": { "content": { "application/json": text }, "required": true } },
        ],
        [{ "responses": { "200": {} } }, { "responses": { "200": {}, "202": {}, "429": {} } }],
        [{ "responses": { "200": {} } }, header(json!({}))],
        [header(text.clone()), header(json!({ "required": true, "schema": text["schema"] }))],
        [header(text.clone()), header(json!({ "schema": { "type": ["integer", "null"] } }))],
        [{ "security": [{ "Key": [] }] }, { "security": [{ "Other": [] }] }],
        [{ "security": [{ "Key": [] }] }, { "security": [{ "Query": [] }] }],
        [{ "security": [{ "Key": [] }] }, { "security": [{ "Key": [] }, { "Token": [] }] }],
        [{ "security": [{ "Key": [] }] }, { "security": [{ "Key": [], "Token": [] }] }],
        [{ "security": [{ "Login": [] }] }, { "security": [{ "Login": ["read"] }] }],
        [{ "security": [{ "Key": [] }] }, { "security": [] }],
        [{ "servers": [{ "url": "https://a.example" }] }, {}],
        [
            { "servers": [{ "url": "https://a.example" }] },
            { "servers": [{ "url": "https://a.example" }, { "url": "https://b.example" }] },
        ],
    ])
}

/// A service with an operation and schemes of authentication.
fn with(operation: &Value) -> Value {
    let mut service = service(json!({ "/v1/a": { "post": operation } }));
    service["components"]["securitySchemes"] = json!({
        "Key": { "type": "apiKey", "in": "header", "name": "X-Key" },
        "Same": { "type": "apiKey", "in": "header", "name": "x-key", "description": "d" },
        "Other": { "type": "apiKey", "in": "header", "name": "x-api-key" },
        "Query": { "type": "apiKey", "in": "query", "name": "key" },
        "Token": { "type": "http", "scheme": "Bearer" },
        "Login": { "type": "oauth2", "flows": {} },
    });
    service
}

#[test]
fn every_rule_has_its_marks() {
    let mut text = format!(
        "an operation\nnone\n{}",
        there_and_back(&service(json!({ "/v1/a": { "post": {} } })), &service(json!({})))
    );
    for pair in operations().as_array().unwrap() {
        text += &format!("\n{}\n{}\n", pair[0], pair[1]);
        text += &there_and_back(&with(&pair[0]), &with(&pair[1]));
    }
    insta::assert_snapshot!(text);
}

#[track_caller]
fn assert_same(a: &Value, b: &Value) {
    assert_eq!(there_and_back(a, b), "", "{a}\n{b}");
}

#[test]
fn different_notations_of_an_operation_are_equal() {
    let equal = json!([
        [{}, { "parameters": [], "responses": {}, "deprecated": false }],
        [{ "responses": { "200": {} } }, { "responses": { "200": { "description": "d" } } }],
        [
            { "requestBody": { "content": { "application/json": {} } } },
            { "requestBody": { "content": {
                "Application/JSON; charset=utf-8": { "schema": {} },
            } } },
        ],
        [{}, { "parameters": [{ "in": "header", "name": "Accept" }] }],
        [
            { "responses": { "200": {} } },
            { "responses": { "200": { "headers": { "Content-Type": {} } } } },
        ],
        [{ "security": [{ "Key": [] }] }, { "security": [{ "Same": [] }] }],
        [
            { "security": [{ "Key": [] }] },
            { "parameters": [{ "in": "header", "name": "X-Key", "required": true }] },
        ],
        [{}, { "security": [] }, { "security": [{}] }, { "security": [{}, { "Key": [] }] }],
        [
            { "servers": [{ "url": "https://a.example/v1" }] },
            { "servers": [{ "url": "https://a.example/v1/" }] },
        ],
        [
            {},
            { "servers": [{ "url": "/" }] },
            { "servers": [{ "url": "https://imagekiln.invalid" }] },
            { "servers": [{ "url": "https://eu.imagekiln.invalid:8443/v1" }] },
        ],
    ]);
    for same in equal.as_array().unwrap() {
        for other in same.as_array().unwrap() {
            assert_same(&with(&same[0]), &with(other));
        }
    }
}

#[test]
fn an_operation_replaces_what_the_document_states() {
    let [key, token] = ["Key", "Token"].map(|name| json!([{ name: [] }]));
    let servers = json!([{ "url": "https://a.example" }]);
    let own = with(&json!({ "security": key, "servers": servers }));
    let mut of_document = with(&json!({}));
    (of_document["security"], of_document["servers"]) = (key, servers);
    assert_same(&own, &of_document);
    let mut replaced = own.clone();
    replaced["security"] = token;
    replaced["servers"] = json!([{ "url": "https://b.example" }]);
    assert_same(&own, &replaced);
}

#[test]
fn paths_are_found_behind_references_and_other_names() {
    let plain = service(json!({ "/v1/{a}": { "post": {} } }));
    let parameter = json!({ "in": "path", "name": "b", "schema": { "type": "string" } });
    let mut other = service(json!({ "/v1/{b}": { "$ref": "#/components/pathItems/B" } }));
    other["components"]["pathItems"]["B"] = json!({ "post": {} });
    other["webhooks"]["done"] = json!({ "post": { "responses": { "200": {} } } });
    assert_same(&plain, &other);
    let [mut plain, mut named] = [plain, other];
    plain["paths"]["/v1/{a}"]["parameters"] = json!([parameter]);
    plain["paths"]["/v1/{a}"]["parameters"][0]["name"] = json!("a");
    named["components"]["pathItems"]["B"]["parameters"] = json!([parameter]);
    assert_same(&plain, &named);
}

#[test]
fn the_other_listing_is_read_with_our_names() {
    let with = |start: &str| service(json!({ format!("/v1/{start}-2"): { "post": {} } }));
    let prefix = "xyz=gen".parse().unwrap();
    let found = comparison(&with("gen"), &with("xyz"), Some(&prefix));
    assert_eq!(found.unwrap().differences, []);
    assert_ne!(compare(&with("gen"), &with("xyz")), []);
    let error = comparison(&with("gen"), &with("gen"), Some(&prefix)).unwrap_err();
    let expected = "theirs.json: no path starts with /v1/xyz-: check --prefix";
    assert_eq!(error.to_string(), expected);
}
