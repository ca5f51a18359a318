//! The faulty responses.

use std::io::Cursor;

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use image::{ImageFormat, RgbImage};

use super::fault::Replacement;
use crate::http::{Cut, response, signed_url::EXPIRED};

const PAGE: &str = "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head>\n\
    <body><h1>502 Bad Gateway</h1><p>This page is a simulated fault.</p></body></html>\n";

pub(super) fn error(status: StatusCode) -> Response {
    response::detail(status, status.canonical_reason().unwrap_or("The service failed"))
}

pub(super) fn bad_gateway() -> Response {
    let mut response = page();
    *response.status_mut() = StatusCode::BAD_GATEWAY;
    response
}

pub(super) fn rate_limited(seconds: u64) -> Response {
    let mut response = response::detail(StatusCode::TOO_MANY_REQUESTS, "Too many requests");
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}

/// The response of an expired delivery URL.
pub(super) fn expired() -> Response {
    response::detail(StatusCode::FORBIDDEN, EXPIRED)
}

/// No response: the connection ends.
pub(super) fn cut(cut: Cut) -> Response {
    let mut response = Response::new(Body::empty());
    response.extensions_mut().insert(cut);
    response
}

pub(super) fn page() -> Response {
    bytes("text/html; charset=utf-8", PAGE.into())
}

pub(super) fn bytes(media_type: &'static str, bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

pub(super) fn wrong_kind(wrong: Replacement, media_type: &'static str) -> Response {
    let other = match wrong {
        Replacement::Text => b"This text is a simulated fault.\n".to_vec(),
        Replacement::Picture => {
            let format =
                if media_type == "image/png" { ImageFormat::Jpeg } else { ImageFormat::Png };
            let mut encoded = Cursor::new(Vec::new());
            // Writing to memory does not fail. If it did, the body would still have the wrong
            // format.
            let _ = RgbImage::new(64, 64).write_to(&mut encoded, format);
            encoded.into_inner()
        }
    };
    bytes(media_type, other)
}
