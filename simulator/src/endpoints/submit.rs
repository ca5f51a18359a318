//! Submissions: reads and validates them. [`accept`] charges for them.

mod accept;

use std::sync::Arc;

use axum::{
    body::Body,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::Response,
};
use serde_json::Value;

use super::{rejection::Rejection, router::Endpoint};
use crate::{
    billing::accounts::ProjectRef,
    contract::{Submission, Violation},
    faults::{FaultPlace, RequestedFaults},
    http::{
        body::{self, BodyError},
        response,
    },
    journal::RequestRecord,
    media::{images::Input, paint::Format, video},
    request::{parsed::ParsedRequest, size, training::Trains, validation},
    state::AppState,
    tasks::logged_request::LoggedRequest,
};

/// The called operation, and the project of the key.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) project: ProjectRef,
    pub(crate) submission: Arc<Submission>,
    pub(crate) operation: String,
    pub(crate) operation_id: String,
    /// The base URL at which the client reaches the simulator.
    pub(crate) base: String,
}

/// A valid request.
struct ValidRequest {
    parsed: ParsedRequest,
    inputs: Vec<Input>,
    size: (u32, u32),
    trains: Trains,
}

/// Validates a submission and creates its task.
pub(super) async fn submit(
    endpoint: &Endpoint,
    call: Call,
    headers: &HeaderMap,
    body: &mut Body,
    record: &mut RequestRecord,
) -> Result<Response, Rejection> {
    let requested = RequestedFaults::in_header(headers, FaultPlace::Submission)
        .map_err(Rejection::Malformed)?;
    let limit = endpoint.state.config.max_body_bytes;
    let bytes = body::read(headers, body, limit).await.map_err(|error| match error {
        BodyError::TooLarge => Rejection::TooLarge(limit),
        BodyError::TooSlow => Rejection::TooSlow,
        BodyError::Broken => Rejection::Unreadable,
    })?;
    check_content_type(headers)?;
    let examine = {
        let state = Arc::clone(&endpoint.state);
        let call = call.clone();
        let headers = headers.clone();
        move || {
            let mut valid = examine(&state, &call, &bytes).map_err(|violations| {
                (violations, LoggedRequest::of_refused(&bytes, &state.contract.secret_fields))
            })?;
            valid.parsed.directives.faults.join(requested, &call.operation, &headers, &bytes);
            Ok(valid)
        }
    };
    let examined: Result<ValidRequest, (_, Option<LoggedRequest>)> =
        endpoint.state.readers.run(examine).await.map_err(|_| Rejection::Internal)?;
    let mut valid = examined.map_err(|(violations, request)| {
        if let Some(request) = request {
            record.set_request(request.json());
        }
        Rejection::Invalid(violations)
    })?;
    record.set_request(valid.parsed.shown.json());
    record.ignored_fields.clone_from(&valid.parsed.ignored);
    let can_be_accepted = accept::check(endpoint, headers, &call, &valid).is_ok();
    let requested = &mut valid.parsed.directives.faults;
    let applied = endpoint.state.faults.apply_to_submission(requested, can_be_accepted);
    record.faults = applied.names();
    let response = match applied.replacement(FaultPlace::Submission) {
        Some(response) => response,
        None => {
            let ignored = ignored_header(&valid.parsed.ignored);
            let accepted = accept::accept(endpoint, headers, call, valid, applied.foreign_base())?;
            record.set_task(&accepted.id);
            let mut response = response::json(StatusCode::OK, &accepted);
            response.headers_mut().extend(ignored);
            applied.after(response)
        }
    };
    Ok(applied.delay(&endpoint.state.clock, response).await)
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

/// The slow part: parsing, validation, decoding of images.
fn examine(state: &AppState, call: &Call, bytes: &[u8]) -> Result<ValidRequest, Vec<Violation>> {
    let submission = &call.submission;
    let operation = (call.operation_id.as_str(), &**submission);
    let mut checked = validation::check(&state.config, operation, bytes)?;
    check_finetune(state, call, &checked.body)?;
    let trains = Trains::read(&call.operation, &checked.body, |name| {
        state.records().accounts.has_finetune(&call.project, name)
    })?;
    let size = size::of_request(
        &state.config,
        &call.operation,
        &submission.fields,
        &checked.body,
        &checked.inputs,
    )?;
    let video = video::is_made_by(&call.operation)
        .then(|| video::VideoSpec::read(&checked.body, size))
        .transpose()?;
    let (operation, secrets) = ((&*call.operation, &**submission), &state.contract.secret_fields);
    let mut parsed = ParsedRequest::read(&state.config, operation, secrets, &mut checked);
    if let Some(video) = video {
        parsed.format = Format::Video(video);
    }
    Ok(ValidRequest { parsed, inputs: checked.inputs, size, trains })
}

/// Rejects a finetune that the project may not use.
fn check_finetune(state: &AppState, call: &Call, body: &Value) -> Result<(), Vec<Violation>> {
    let named = body
        .get("finetune_id")
        .and_then(Value::as_str)
        .filter(|_| call.operation.ends_with("-finetuned"));
    let unix = state.clock.unix_now();
    if named.is_none_or(|id| state.records().accounts.knows_finetune(&call.project, id, unix)) {
        return Ok(());
    }
    let problem = "the project has no finetune of this name";
    Err(vec![Violation::value(vec!["body".into(), "finetune_id".into()], problem)])
}
