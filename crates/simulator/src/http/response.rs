//! JSON responses.

use std::time::{Duration, UNIX_EPOCH};

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use serde::Serialize;
use serde_json::{Value, json};

/// A JSON response.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    let (status, bytes) = match serde_json::to_vec(value) {
        Ok(bytes) => (status, bytes),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, b"{}".to_vec()),
    };
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// The last second that `Date` can say.
const LAST_DATE: Duration = Duration::from_secs(253_402_300_799);

/// Says when the response was made.
pub(crate) fn set_date(response: &mut Response, unix: Duration) {
    let date = httpdate::fmt_http_date(UNIX_EPOCH + unix.min(LAST_DATE));
    if let Ok(date) = HeaderValue::from_str(&date) {
        response.headers_mut().insert(header::DATE, date);
    }
}

/// The detail of an error response, as an extension of the response.
#[derive(Clone)]
pub(crate) struct Detail(pub(crate) Value);

/// An error response: `{"detail": "..."}`, with a text or a list.
pub(crate) fn detail(status: StatusCode, detail: impl Serialize) -> Response {
    let detail = json!(detail);
    let mut response = json(status, &json!({ "detail": detail }));
    response.extensions_mut().insert(Detail(detail));
    response
}
