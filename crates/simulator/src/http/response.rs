//! Creates responses. Also finds the part of a file that the `Range` header of a request asks for,
//! because video players use that to seek.

use std::{
    ops::Range,
    time::{Duration, UNIX_EPOCH},
};

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use serde::Serialize;
use serde_json::{Value, json};

/// Creates a JSON response.
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

/// The last second that the format of `Date` can express.
const LAST_DATE: Duration = Duration::from_secs(253_402_300_799);

/// Sets the `Date` of the response to a Unix time.
pub(crate) fn set_date(response: &mut Response, unix: Duration) {
    let date = httpdate::fmt_http_date(UNIX_EPOCH + unix.min(LAST_DATE));
    if let Ok(date) = HeaderValue::from_str(&date) {
        response.headers_mut().insert(header::DATE, date);
    }
}

/// The detail of an error response, as an extension of the response, for the journal.
#[derive(Clone)]
pub(crate) struct Detail(pub(crate) Value);

/// Creates an error response, `{"detail": ...}`, whose detail is a text or a list.
pub(crate) fn detail(status: StatusCode, detail: impl Serialize) -> Response {
    let detail = json!(detail);
    let mut response = json(status, &json!({ "detail": detail }));
    response.extensions_mut().insert(Detail(detail));
    response
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The complete file, because the request has no range, or one that may be ignored.
    Whole,
    Of(Range<usize>),
    /// Nothing, because the requested range is outside of the file.
    Outside,
}

impl Part {
    /// Parses the `Range` header. Only a single range of bytes is supported; otherwise the complete
    /// file is sent. With `If-Range`, the complete file is sent, too, because files have no tag to
    /// compare.
    pub(crate) fn requested(headers: &HeaderMap, length: usize) -> Self {
        let header = headers.get(header::RANGE).filter(|_| !headers.contains_key(header::IF_RANGE));
        let text = header.and_then(|range| range.to_str().ok()?.strip_prefix("bytes="));
        let range = text.and_then(|range| range.split_once('-'));
        range.map_or(Self::Whole, |range| Self::between(range, length))
    }

    /// Creates the response with this part of a file. `body` converts the bytes to a body.
    pub(crate) fn response(
        self,
        kind: &'static str,
        file: Bytes,
        body: impl FnOnce(Bytes) -> Body,
    ) -> Response {
        let length = file.len();
        let (status, range, part) = match self {
            Self::Whole => (StatusCode::OK, None, file),
            Self::Outside => {
                (StatusCode::RANGE_NOT_SATISFIABLE, Some(format!("bytes */{length}")), Bytes::new())
            }
            Self::Of(Range { start, end }) => {
                let range = format!("bytes {start}-{}/{length}", end.saturating_sub(1));
                (StatusCode::PARTIAL_CONTENT, Some(range), file.slice(start..end))
            }
        };
        let part_length = HeaderValue::from(part.len());
        let mut response = Response::new(body(part));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        let range = range.and_then(|range| HeaderValue::try_from(range).ok());
        headers.extend(range.map(|range| (header::CONTENT_RANGE, range)));
        headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        headers.insert(header::CONTENT_LENGTH, part_length);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        response
    }

    fn between((first, last): (&str, &str), length: usize) -> Self {
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            // A number that is too large to parse is beyond the end of any file.
            digits.then(|| text.parse().unwrap_or(usize::MAX))
        };
        let range = match (number(first), number(last)) {
            (Some(first), None) if last.is_empty() => first..length,
            (Some(first), Some(last)) if first <= last => first..last.saturating_add(1).min(length),
            (None, Some(suffix)) if first.is_empty() => length.saturating_sub(suffix)..length,
            _ => return Self::Whole,
        };
        if range.is_empty() { Self::Outside } else { Self::Of(range) }
    }
}
