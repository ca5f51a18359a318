//! Creates responses, also those to rejected requests. Finds the part of a file that the `Range`
//! header of a request asks for, because video players use that to seek.

use std::{
    ops::Range,
    time::{Duration, UNIX_EPOCH},
};

use axum::{
    Extension, Json,
    body::{Body, Bytes},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{runtime::workers::Panicked, values::names::digits};

/// Creates a JSON response.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    (status, Json(value)).into_response()
}

/// The media type of a body, without parameters such as the charset.
pub(crate) fn media_type(headers: &HeaderMap) -> &str {
    let given = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    given.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim()
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

/// Why a request is rejected: the status code and the detail of the response, and sometimes a
/// header. The body of the response is `{"detail": ...}`.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    /// A text or a list. In a box, because an error should be small.
    detail: Box<Value>,
    header: Option<(HeaderName, HeaderValue)>,
}

/// The result of handling a request.
pub(crate) type Handled<T = Response> = Result<T, Problem>;

impl Problem {
    pub(crate) fn new(status: StatusCode, detail: impl Serialize) -> Self {
        Self { status, detail: Box::new(json!(detail)), header: None }
    }

    /// 400: the request cannot be parsed.
    pub(crate) fn malformed(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail.into())
    }

    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, detail.into())
    }

    /// 404: `what` does not exist.
    pub(crate) fn unknown(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("Unknown {what}"))
    }

    /// 404 for a path.
    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "Not Found")
    }

    /// 405, with the allowed methods.
    pub(crate) fn other_methods(allowed: &str) -> Self {
        let allowed = HeaderValue::from_str(allowed).ok().map(|methods| (header::ALLOW, methods));
        let detail = "Method Not Allowed";
        Self { header: allowed, ..Self::new(StatusCode::METHOD_NOT_ALLOWED, detail) }
    }

    /// 409: the request contradicts the state.
    pub(crate) fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, detail.into())
    }

    /// 422: the request can be parsed, but is invalid.
    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail.into())
    }

    /// 429, with the time to wait in whole seconds.
    pub(crate) fn busy(wait: Duration, detail: impl Into<String>) -> Self {
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        let wait = (header::RETRY_AFTER, HeaderValue::from(seconds.max(1)));
        Self { header: Some(wait), ..Self::new(StatusCode::TOO_MANY_REQUESTS, detail.into()) }
    }

    /// 500: an internal error of the simulator.
    pub(crate) fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "The simulator failed")
    }
}

impl From<Panicked> for Problem {
    fn from(_: Panicked) -> Self {
        Self::internal()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = json(self.status, &json!({ "detail": self.detail }));
        let mut response = (Extension(Detail(*self.detail)), body).into_response();
        response.headers_mut().extend(self.header);
        response
    }
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
        let Some((first, last)) = text.and_then(|range| range.split_once('-')) else {
            return Self::Whole;
        };
        // A number that is too large to parse is beyond the end of any file.
        let number = |text| digits(text).map(|digits| digits.parse().unwrap_or(usize::MAX));
        let range = match (number(first), number(last)) {
            (Some(first), None) if last.is_empty() => first..length,
            (Some(first), Some(last)) if first <= last => first..last.saturating_add(1).min(length),
            (None, Some(suffix)) if first.is_empty() => length.saturating_sub(suffix)..length,
            _ => return Self::Whole,
        };
        if range.is_empty() { Self::Outside } else { Self::Of(range) }
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
        let headers = [
            (header::ACCEPT_RANGES, HeaderValue::from_static("bytes")),
            (header::CONTENT_LENGTH, HeaderValue::from(part.len())),
            (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        ];
        let mut response = (status, headers, body(part)).into_response();
        let range = range.and_then(|range| HeaderValue::try_from(range).ok());
        response.headers_mut().extend(range.map(|range| (header::CONTENT_RANGE, range)));
        response
    }
}
