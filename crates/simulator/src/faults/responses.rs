//! The responses of faults.

use std::io::Cursor;

use axum::{
    body::{Body, Bytes},
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use futures_util::{StreamExt as _, stream};
use http_body::Body as _;
use image::{ImageFormat, RgbImage};

use super::table::{FalseFile, FalseResponse};
use crate::http::{Cut, response, signed_url::EXPIRED};

const PAGE: &str = "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head>\n\
    <body><h1>502 Bad Gateway</h1><p>This page is a simulated fault.</p></body></html>\n";

/// The response to a request.
pub(super) fn of_request(response: FalseResponse) -> Response {
    match response {
        FalseResponse::Error(status) => {
            response::detail(status, status.canonical_reason().unwrap_or("The service failed"))
        }
        FalseResponse::ProxyPage => {
            let mut response = page();
            *response.status_mut() = StatusCode::BAD_GATEWAY;
            response
        }
        FalseResponse::RateLimited(seconds) => {
            let mut response = response::detail(StatusCode::TOO_MANY_REQUESTS, "Too many requests");
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            response
        }
        FalseResponse::Cut(cut) => {
            let mut response = Response::new(Body::empty());
            response.extensions_mut().insert(cut);
            response
        }
    }
}

/// The response instead of a picture of this media type.
pub(super) fn of_delivery(file: FalseFile, media_type: &'static str, picture: &Bytes) -> Response {
    match file {
        FalseFile::Empty => bytes(media_type, Vec::new()),
        FalseFile::Half => bytes(media_type, picture.slice(..picture.len() / 2).into()),
        FalseFile::OtherSize => {
            let format = ImageFormat::from_mime_type(media_type).unwrap_or(ImageFormat::Png);
            bytes(media_type, black([64, 80], format))
        }
        FalseFile::Page => page(),
        FalseFile::Text => bytes(media_type, b"This text is a simulated fault.\n".to_vec()),
        FalseFile::OtherFormat => bytes(media_type, other_format(media_type)),
        FalseFile::Expired => response::detail(StatusCode::FORBIDDEN, EXPIRED),
    }
}

/// The first half of some bytes, followed by the end of the connection.
pub(crate) fn cut_short(bytes: &Bytes, cut: Cut) -> Body {
    let half = bytes.slice(..bytes.len() / 2);
    let end = async move {
        // The server flushes what it has while no more data is available.
        tokio::task::yield_now().await;
        Err(cut)
    };
    Body::from_stream(stream::iter([Ok(half)]).chain(stream::once(end)))
}

/// The same response, whose body starts after a pause.
pub(super) fn with_late_body(
    mut response: Response,
    pause: impl Future<Output = ()> + Send + 'static,
) -> Response {
    // A stream does not say how long it is.
    if let Some(length) = response.body().size_hint().exact() {
        response.headers_mut().insert(header::CONTENT_LENGTH, length.into());
    }
    response.map(|body| {
        let late = async {
            pause.await;
            body.into_data_stream()
        };
        Body::from_stream(stream::once(late).flatten())
    })
}

fn page() -> Response {
    bytes("text/html; charset=utf-8", PAGE.into())
}

fn bytes(media_type: &'static str, bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

fn other_format(media_type: &str) -> Vec<u8> {
    let format = if media_type == "image/png" { ImageFormat::Jpeg } else { ImageFormat::Png };
    black([64, 64], format)
}

fn black([width, height]: [u32; 2], format: ImageFormat) -> Vec<u8> {
    let mut encoded = Cursor::new(Vec::new());
    // Writing to memory does not fail. If it did, the body would still have the wrong format.
    let _ = RgbImage::new(width, height).write_to(&mut encoded, format);
    encoded.into_inner()
}
