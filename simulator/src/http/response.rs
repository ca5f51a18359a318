//! JSON responses.

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use serde::Serialize;
use serde_json::json;

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

/// An error response: `{"detail": "..."}`, with a text or a list.
pub(crate) fn detail(status: StatusCode, detail: impl Serialize) -> Response {
    json(status, &json!({ "detail": detail }))
}
