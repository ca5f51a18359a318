//! JSON responses.

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
