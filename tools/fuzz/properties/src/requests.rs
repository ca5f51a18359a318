//! Requests in their stored form.

use std::collections::HashSet;

use imagekiln::Request;
use serde_json::{Map, Value};

use crate::exchange::{SECRET, SECRETS, assert_no_secret, assert_safe, body_of, has_secret};

/// A request that is read is the same after it was stored, without its secret. What `validate`
/// accepts can be sent: its body is an object with all of its fields.
pub fn stored_request(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    // An error names unknown fields, so their names are not secret. Neither is the scheme of a URL,
    // which is printed in lower case.
    let is_named = serde_json::from_str(text)
        .is_ok_and(|value: Value| has_secret(&value.to_string().to_ascii_lowercase()));
    let request = match Request::from_json(text) {
        Ok(request) => request,
        Err(_) if is_named => return,
        Err(error) => return assert_safe(&error, &SECRETS),
    };
    let is_secret_set = request.has_field("webhook_secret");
    if let (Ok(stored), false) = (request.to_json(), is_secret_set) {
        assert_eq!(Request::from_json(&stored).expect("a stored request"), request, "{stored}");
    }
    let is_sendable = request.operation().submits && !request.reads_files();
    if request.validate().is_ok() && is_sendable {
        let body = body_of(&request);
        let outline = request.outline();
        let names =
            |object: &Map<String, Value>| -> HashSet<String> { object.keys().cloned().collect() };
        assert_eq!(names(&body), names(&outline));
        request.to_json().expect("a valid request can be stored");
    }
    if !is_secret_set && !is_named {
        let secret = request.field("webhook_secret", SECRET);
        assert_no_secret(&format!("{secret:?} {:?} {:?}", secret.outline(), secret.to_json()));
        if let Err(error) = secret.validate() {
            assert_safe(&error, &SECRETS);
        }
    }
}
