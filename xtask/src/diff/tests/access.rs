//! Authentication and servers.

use serde_json::{Value, json};

use super::{compare, described, service, try_compare};
use crate::diff::difference::Mark::{self, Breaking, Compatible};

fn schemes() -> Value {
    json!({
        "Key": { "type": "apiKey", "in": "header", "name": "X-Key" },
        "Other": { "type": "apiKey", "in": "header", "name": "x-api-key" },
        "Query": { "type": "apiKey", "in": "query", "name": "key" },
        "Token": { "type": "http", "scheme": "Bearer" },
        "Login": { "type": "oauth2", "flows": {} },
    })
}

/// A service with these requirements of the document and of its operation.
fn secured(document: Value, operation: Value) -> Value {
    let mut service = service(json!({ "/v1/a": { "post": {} } }));
    service["components"]["securitySchemes"] = schemes();
    for (place, security) in [("", document), ("/paths/~1v1~1a/post", operation)] {
        if !security.is_null() {
            service.pointer_mut(place).expect("no such place")["security"] = security;
        }
    }
    service
}

#[track_caller]
fn assert_authentication(from: Value, to: Value, expected: Option<(Mark, &str)>) {
    let found = described(&compare(&secured(from, Value::Null), &secured(to, Value::Null)));
    let expected = expected.map(|(mark, change)| (mark, format!("authentication {change}")));
    assert_eq!(found, Vec::from_iter(expected));
}

#[test]
fn authentication_narrows_and_widens() {
    let key = || json!([{ "Key": [] }]);
    let either = || json!([{ "Key": [] }, { "Token": [] }]);
    let together = || json!([{ "Key": [], "Token": [] }]);
    let change = "key in header x-key -> key in header x-api-key";
    assert_authentication(key(), json!([{ "Other": [] }]), Some((Breaking, change)));
    let change = "key in header x-key -> key in query key";
    assert_authentication(key(), json!([{ "Query": [] }]), Some((Breaking, change)));
    let change = "key in header x-key -> HTTP bearer or key in header x-key";
    assert_authentication(key(), either(), Some((Compatible, change)));
    let change = "HTTP bearer or key in header x-key -> key in header x-key";
    assert_authentication(either(), key(), Some((Breaking, change)));
    let change = "key in header x-key -> HTTP bearer and key in header x-key";
    assert_authentication(key(), together(), Some((Breaking, change)));
    let change = "HTTP bearer and key in header x-key -> key in header x-key";
    assert_authentication(together(), key(), Some((Compatible, change)));
    let change = "OAuth 2 -> OAuth 2 and scope read";
    assert_authentication(
        json!([{ "Login": [] }]),
        json!([{ "Login": ["read"] }]),
        Some((Breaking, change)),
    );
}

#[test]
fn a_service_without_authentication_accepts_everybody() {
    let key = || json!([{ "Key": [] }]);
    for none in [Value::Null, json!([]), json!([{}])] {
        let lost = "key in header x-key -> none";
        assert_authentication(key(), none.clone(), Some((Compatible, lost)));
        let demanded = "none -> key in header x-key";
        assert_authentication(none, key(), Some((Breaking, demanded)));
    }
    let optional = json!([{}, { "Key": [] }]);
    assert_authentication(json!([]), optional, None);
}

#[test]
fn an_operation_replaces_the_authentication_of_the_document() {
    let document = secured(json!([{ "Key": [] }]), Value::Null);
    let operation = secured(json!([{ "Token": [] }]), json!([{ "Key": [] }]));
    assert_eq!(described(&compare(&document, &operation)), []);
    let open = secured(json!([{ "Key": [] }]), json!([]));
    let line = "authentication key in header x-key -> none".to_owned();
    assert_eq!(described(&compare(&document, &open)), [(Compatible, line)]);
}

#[test]
fn names_and_descriptions_of_schemes_are_ignored() {
    let ours = secured(json!([{ "Key": [] }]), Value::Null);
    let mut theirs = secured(json!([{ "APIKeyHeader": [] }]), Value::Null);
    theirs["components"]["securitySchemes"]["APIKeyHeader"] =
        json!({ "type": "apiKey", "in": "header", "name": "x-key", "description": "d" });
    assert_eq!(described(&compare(&ours, &theirs)), []);
}

#[test]
fn invalid_authentication_is_an_error() {
    let faults = [
        (json!([{ "Nowhere": [] }]), "/security/0: `Nowhere` is not in"),
        (json!({}), "/security: expected an array"),
        (json!(vec![json!({}); 101]), "/security: more than 100 alternatives"),
    ];
    for (security, expected) in faults {
        let document = secured(security, Value::Null);
        let error = try_compare(&service(json!({})), &document).expect_err("accepted");
        assert!(format!("{error:#}").contains(expected), "{error:#}");
    }
}

/// A service with these servers of the document and of its operation.
fn at(document: &[&str], operation: &[&str]) -> Value {
    let list = |urls: &[&str]| -> Value { urls.iter().map(|url| json!({ "url": url })).collect() };
    let mut service = service(json!({ "/v1/a": { "post": { "servers": list(operation) } } }));
    service["servers"] = list(document);
    service
}

#[test]
fn servers_are_added_and_removed() {
    let (a, b) = ("https://a.example/api/", "https://b.example");
    let found = |from: &[&str], to: &[&str]| described(&compare(&at(from, &[]), &at(to, &[])));
    assert_eq!(found(&[a], &["https://a.example/api"]), []);
    let line = "servers https://a.example/api -> https://a.example/api, https://b.example";
    assert_eq!(found(&[a], &[b, a]), [(Compatible, line.into())]);
    let line = "servers https://a.example/api, https://b.example -> https://b.example";
    assert_eq!(found(&[a, b], &[b]), [(Breaking, line.into())]);
    assert_eq!(described(&compare(&at(&[b], &[]), &at(&[a], &[b]))), []);
}

#[test]
fn a_placeholder_names_no_server() {
    let placeholders =
        ["https://imagekiln.invalid", "https://user@eu.imagekiln.INVALID.:8443/v1", "//", "/", ""];
    for placeholder in placeholders {
        let from = at(&[placeholder], &[]);
        assert_eq!(described(&compare(&from, &at(&[], &[]))), []);
        let found = described(&compare(&from, &at(&["https://invalid.example"], &[])));
        let line = "servers none -> https://invalid.example".to_owned();
        assert_eq!(found, [(Compatible, line)], "{placeholder}");
    }
}

#[test]
fn variables_of_servers_have_their_defaults() {
    let mut from = at(&["https://{region}.example/{base}"], &[]);
    from["servers"][0]["variables"] =
        json!({ "region": { "default": "eu" }, "base": { "default": "v1" } });
    assert_eq!(described(&compare(&from, &at(&["https://eu.example/v1"], &[]))), []);
    from["servers"][0]["variables"]["base"]["default"] = json!("x".repeat(3000));
    let error = try_compare(&from, &from).expect_err("a long URL was accepted");
    let expected = "/servers/0/url: the URL is longer than 2000 characters";
    assert!(format!("{error:#}").ends_with(expected), "{error:#}");
    let undefined = at(&["https://{region}.example"], &[]);
    let error = try_compare(&undefined, &undefined).expect_err("an unknown variable was accepted");
    assert!(format!("{error:#}").ends_with("/servers/0: `variables` is missing"), "{error:#}");
}
