//! The reasons to reject a request, and the responses with these reasons.

use std::{borrow::Cow, time::Duration};

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use serde_json::json;

use crate::{
    billing::accounts::Unpaid,
    contract::{MAX_VIOLATIONS, Region, Violation},
    http::response,
};

/// Why a request is rejected.
#[derive(Debug)]
pub(crate) enum Rejection {
    /// The organization does not have enough credits, or the project would exceed a spending limit.
    /// The number is the configured status code.
    Unpaid(u16, Unpaid),
    /// 429: the project has the maximum number of active tasks. The first of them ends after
    /// `wait`.
    TooManyTasks { most: usize, wait: Duration },
    /// 403, with the reason.
    Forbidden(Cow<'static, str>),
    /// 404.
    NotFound,
    /// 404: the other base URL serves the operation.
    OtherRegion(Region),
    /// 405, with the allowed methods.
    OtherMethods(String),
    /// 413, with the limit in bytes.
    TooLarge(usize),
    /// 429: the bodies of other requests take too much of the memory.
    NoRoom,
    /// 422.
    Invalid(Vec<Violation>),
    /// 400: the connection failed while the body was read.
    Unreadable,
    /// 400: a header is malformed, with the reason.
    Malformed(String),
    /// 408: the body did not arrive in time.
    TooSlow,
    /// 500: an internal error of the simulator.
    Internal,
}

impl Rejection {
    pub(crate) fn response(self) -> Response {
        let (status, detail) = match self {
            Self::Unpaid(status, unpaid) => (
                StatusCode::from_u16(status).unwrap_or(StatusCode::PAYMENT_REQUIRED),
                json!(unpaid.to_string()),
            ),
            Self::TooManyTasks { most, wait } => {
                let detail = format!("The project has reached its limit of {most} active tasks");
                return retry_after(wait, detail);
            }
            Self::NoRoom => {
                let detail = "Too many large requests are arriving at the same time";
                return retry_after(Duration::from_secs(1), detail.to_owned());
            }
            Self::Forbidden(problem) => (StatusCode::FORBIDDEN, json!(problem)),
            Self::NotFound => (StatusCode::NOT_FOUND, json!("Not Found")),
            Self::OtherRegion(region) => (
                StatusCode::NOT_FOUND,
                json!(format!("The {region} base URL serves this endpoint, and not this one")),
            ),
            Self::OtherMethods(allow) => {
                let mut response =
                    response::detail(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed");
                if let Ok(allow) = HeaderValue::try_from(allow) {
                    response.headers_mut().insert(header::ALLOW, allow);
                }
                return response;
            }
            Self::TooLarge(limit) => (
                StatusCode::PAYLOAD_TOO_LARGE,
                json!(format!("The request body is larger than {limit} bytes")),
            ),
            Self::Invalid(mut violations) => {
                violations.truncate(MAX_VIOLATIONS);
                violations.iter_mut().for_each(Violation::make_printable);
                (StatusCode::UNPROCESSABLE_ENTITY, json!(violations))
            }
            Self::Malformed(problem) => (StatusCode::BAD_REQUEST, json!(problem)),
            Self::Unreadable => {
                (StatusCode::BAD_REQUEST, json!("The request body could not be read"))
            }
            Self::TooSlow => {
                (StatusCode::REQUEST_TIMEOUT, json!("The request body did not arrive in time"))
            }
            Self::Internal => (StatusCode::INTERNAL_SERVER_ERROR, json!("The simulator failed")),
        };
        response::detail(status, detail)
    }
}

/// Creates a 429, with the time to wait in whole seconds.
fn retry_after(wait: Duration, detail: String) -> Response {
    let mut response = response::detail(StatusCode::TOO_MANY_REQUESTS, detail);
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)));
    response
}
