//! Errors that submissions, polls and waits have in common.

use std::collections::BTreeSet;

use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Shared;
use crate::{
    Error, ErrorKind, Location, TaskRef, TaskStatus, Violation, WaitEnd,
    contract::{Findings, Unexpected, read_response},
    retry::{
        retry_after,
        status::{Meaning, PollEffect},
    },
    transport::{middleware::Purpose, redaction::Redaction, response::Response},
    types::HttpValidationError,
    values::{MAX_MESSAGE, MAX_NAME, one_line},
};

/// The maximum number of violations to keep. No request has this many fields.
const MOST_VIOLATIONS: usize = 100;

/// Returns the error for a response without a success code, and the meaning of its status code.
/// Also reports the parts of the response that the contract does not define.
///
/// The error has the violations or the message in the body. Secrets that the service echoes are
/// redacted. HTML bodies are ignored, because they are not readable in a terminal.
pub(super) fn error_of(
    shared: &Shared,
    purpose: Purpose,
    operation: Option<&str>,
    response: &Response,
    redaction: &Redaction,
) -> (Error, &'static Meaning) {
    let meaning = Meaning::of(response.status);
    let is_invalid = response.status == StatusCode::UNPROCESSABLE_ENTITY;
    let body = response.document.as_ref();
    let detail = body.map(|body| body.get("detail").unwrap_or(body));
    let list = detail.and_then(Value::as_array);
    // The complete response to an invalid request, if the body has that type.
    let complete = body.filter(|_| is_invalid || list.is_some()).map(|body| {
        let mut body = body.clone();
        redaction.redact_json(&mut body);
        read_response::<HttpValidationError>(body)
    });
    let (complete, unexpected) = complete.unwrap_or_default();
    if is_invalid {
        report(shared, operation, response, complete.as_ref(), unexpected);
    }
    let kind = match meaning.kind {
        // A poll cannot violate the contract; only the request of a submission can.
        ErrorKind::Validation if purpose == Purpose::Poll => ErrorKind::Service,
        kind => kind,
    };
    let said = detail
        .and_then(message_in)
        .map_or_else(String::new, |text| format!(": {}", redaction.line(&text, MAX_MESSAGE)));
    let (what, status) = (meaning.what, named(response.status));
    let error =
        Error::new(kind, format!("{} failed: the service {what} ({status}){said}", purpose.name()))
            .permanent(meaning.poll == PollEffect::End)
            .with_status(response.status.as_u16())
            .with_request_id(response.request_id(redaction))
            .with_retry_after(retry_after(&response.headers, shared.service.clock.now()))
            .with_violations(list.map_or_else(Vec::new, |list| violations_in(list, redaction)))
            .with_response(complete);
    (error, meaning)
}

/// Returns the error message in the body of a failure response, or in its member `detail`.
fn message_in(detail: &Value) -> Option<String> {
    let text = match detail {
        Value::Array(list) => {
            let texts: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
            return Some(texts.join("; ")).filter(|_| !texts.is_empty());
        }
        Value::String(text) => Some(text.as_str()),
        other => ["message", "error", "msg"].iter().find_map(|name| other.get(name)?.as_str()),
    };
    text.map(str::to_owned)
}

/// Formats a status code, for example `502 Bad Gateway`.
fn named(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_str().to_owned(),
    }
}

fn violations_in(list: &[Value], redaction: &Redaction) -> Vec<Violation> {
    let violations = list.iter().filter_map(|entry| Violation::deserialize(entry).ok());
    violations.take(MOST_VIOLATIONS).map(|found| cleaned(found, redaction)).collect()
}

/// Redacts the secrets in a violation, and limits the lengths of its texts.
fn cleaned(violation: Violation, redaction: &Redaction) -> Violation {
    let step = |step| match step {
        Location::Name(name) => Location::Name(redaction.line(&name, MAX_NAME)),
        index @ Location::Index(_) => index,
    };
    let mut extra = json!(violation.extra);
    redaction.redact_json(&mut extra);
    Violation {
        loc: violation.loc.into_iter().take(MOST_VIOLATIONS).map(step).collect(),
        msg: redaction.line(&violation.msg, MAX_MESSAGE),
        kind: redaction.line(&violation.kind, MAX_NAME),
        extra: serde_json::from_value(extra).unwrap_or_default(),
    }
}

/// Reports the parts of a response to an invalid request that the contract does not define.
fn report(
    shared: &Shared,
    operation: Option<&str>,
    response: &Response,
    complete: Option<&HttpValidationError>,
    unexpected: Unexpected,
) {
    let mut findings =
        Findings { operation, response: "HTTPValidationError", unexpected, ..Findings::default() };
    let violations = complete.into_iter().flat_map(|body| &body.detail).take(MOST_VIOLATIONS);
    let names: BTreeSet<_> = violations.flat_map(|violation| violation.extra.keys()).collect();
    let mut inner = Unexpected::default();
    names.iter().for_each(|name| inner.unlisted(name));
    findings.unexpected.add(inner.within("detail"));
    shared.drift.report(findings, response.document.as_ref());
}

/// The error for a submission that the service may have accepted.
pub(super) fn unknown(error: Error) -> Error {
    error.with_billing_unknown().with_advice(
        "it is unknown whether the task was created and billed, so the client did not send it \
         again; check the usage at the service before you submit it again",
    )
}

/// The error for a task that ended with a status.
pub(crate) fn failure(status: TaskStatus, task: &TaskRef, details: Option<&Value>) -> Error {
    let (kind, advice) = match status {
        TaskStatus::RequestModerated | TaskStatus::ContentModerated => {
            (ErrorKind::Moderated, "change the prompt or the images, or increase safety_tolerance")
        }
        TaskStatus::TaskNotFound => {
            (ErrorKind::TaskNotFound, "check the task id and the polling URL")
        }
        _ => (
            ErrorKind::TaskFailed,
            "it has no picture; a new submission creates a new task and is billed again",
        ),
    };
    let shown = one_line(status.as_str(), MAX_NAME);
    let details = details.map_or_else(String::new, |details| format!(": {details}"));
    Error::new(kind, format!("the task ended with status `{shown}`{details}"))
        .with_advice(advice)
        .with_task(task)
        .with_end(WaitEnd::Failed { status })
}
