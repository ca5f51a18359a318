//! Submissions: reads them. [`examine`] validates them, and [`accept`] charges for them.

mod accept;
mod call;
mod examine;
mod interpret;

use std::sync::Arc;

use axum::{
    body::Body,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, request::Parts},
    response::Response,
};

pub(super) use self::call::Call;
use self::{call::RawRequest, examine::Refused};
use super::{endpoint::Endpoint, rejection::Rejection};
use crate::{
    contract::Violation,
    faults::{FaultPlace, RequestedFaults},
    http::{
        body::{self, BodyError},
        response,
    },
    journal::RequestRecord,
};

/// Whether a submission with a larger body could be accepted is checked before it is read, too.
const MAX_SMALL_BODY: u64 = 64 << 10;

/// Validates a submission and creates its task.
pub(super) async fn submit(
    endpoint: &Endpoint,
    call: Call,
    head: &Parts,
    body: &mut Body,
    record: &mut RequestRecord,
) -> Result<Response, Rejection> {
    let headers = &head.headers;
    let faults = RequestedFaults::in_header(headers, FaultPlace::Submission)
        .map_err(Rejection::Malformed)?;
    check_content_type(headers)?;
    if body::announced(headers).is_none_or(|length| length > MAX_SMALL_BODY) {
        // Spare the client the upload.
        accept::check(endpoint, headers, &call, None)?;
    }
    let state = &endpoint.state;
    let limit = state.config.max_body_bytes;
    let read = body::read(head, body, limit, Some(state.bodies.share())).await;
    let body = read.map_err(|error| match error {
        BodyError::TooLarge => Rejection::TooLarge(limit),
        BodyError::NoRoom => Rejection::NoRoom,
        BodyError::TooSlow => Rejection::TooSlow,
        BodyError::Broken => Rejection::Unreadable,
    })?;
    let body = Arc::new(body);
    let request = RawRequest { call: call.clone(), headers: headers.clone(), body, faults };
    let mut valid = match examine::examine(state, request).await? {
        Ok(valid) => valid,
        Err(Refused { violations, request }) => {
            record.set_request(&request);
            return Err(Rejection::Invalid(violations));
        }
    };
    record.set_request(valid.parsed.shown.json());
    record.ignored_fields.clone_from(&valid.parsed.ignored);
    let can_be_accepted = accept::check(endpoint, headers, &call, Some(&valid)).is_ok();
    let faults = &mut valid.parsed.directives.faults;
    let applied = state.faults.apply_to_submission(faults, can_be_accepted);
    record.faults = applied.names();
    let response = match applied.replacement(FaultPlace::Submission) {
        Some(response) => response,
        None => {
            let ignored = ignored_header(&valid.parsed.ignored);
            let accepted = accept::accept(
                endpoint,
                headers,
                call,
                valid,
                applied.foreign_base(state.config.scheme()),
            )?;
            record.set_task(&accepted.id);
            let mut response = response::json(StatusCode::OK, &accepted);
            response.headers_mut().extend(ignored);
            applied.after(response)
        }
    };
    Ok(applied.delay(&state.clock, response).await)
}

/// Names the fields of the request that had no effect.
const IGNORED_FIELDS: HeaderName = HeaderName::from_static("x-simulator-ignored-fields");

fn ignored_header(names: &[String]) -> Option<(HeaderName, HeaderValue)> {
    let value = HeaderValue::try_from(names.join(", ")).ok()?;
    (!names.is_empty()).then_some((IGNORED_FIELDS, value))
}

fn check_content_type(headers: &HeaderMap) -> Result<(), Rejection> {
    let given =
        headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json")) {
        return Ok(());
    }
    let msg = concat!(
        "Input should be a valid dictionary or object to extract fields from: ",
        "the Content-Type should be application/json",
    );
    Err(Rejection::Invalid(vec![Violation::new(["body"], "model_attributes_type", msg)]))
}
