//! Errors that submissions, polls and waits have in common.

use std::collections::BTreeSet;

use reqwest::StatusCode;
use serde_json::Value;

use super::Shared;
use crate::{
    Error, ErrorKind, TaskRef, TaskStatus, WaitEnd,
    contract::{Findings, Unexpected},
    retry::{
        retry_after,
        status::{Meaning, PollEffect},
    },
    transport::{
        middleware::Purpose,
        redaction::Redaction,
        response::{ErrorBody, MOST_VIOLATIONS, Response, named},
    },
    values::{MAX_NAME, one_line},
};

/// Returns the error for a response without a success code, and the meaning of its status code.
/// Also reports the parts of the response that the contract does not define.
pub(super) fn error_of(
    shared: &Shared,
    purpose: Purpose,
    operation: Option<&str>,
    response: &Response,
    redaction: &Redaction,
) -> (Error, &'static Meaning) {
    let meaning = Meaning::of(response.status);
    let mut error_body = ErrorBody::of(response, redaction);
    if response.status == StatusCode::UNPROCESSABLE_ENTITY {
        report(shared, operation, response, &mut error_body);
    }
    let kind = match meaning.kind {
        // A poll cannot violate the contract; only the request of a submission can.
        ErrorKind::Validation if purpose == Purpose::Poll => ErrorKind::Service,
        kind => kind,
    };
    let message = format!(
        "{} failed: the service {} ({}){}",
        purpose.name(),
        meaning.what,
        named(response.status),
        error_body.suffix()
    );
    let error = Error::new(kind, message)
        .permanent(meaning.poll == PollEffect::End)
        .with_status(response.status.as_u16())
        .with_request_id(response.request_id(redaction))
        .with_retry_after(retry_after(&response.headers, shared.service.clock.now()))
        .with_violations(error_body.violations)
        .with_response(error_body.response);
    (error, meaning)
}

/// Reports the parts of a response to an invalid request that the contract does not define.
fn report(shared: &Shared, operation: Option<&str>, response: &Response, body: &mut ErrorBody) {
    let unexpected = std::mem::take(&mut body.unexpected);
    let mut findings =
        Findings { operation, response: "HTTPValidationError", unexpected, ..Findings::default() };
    let violations = body.response.iter().flat_map(|body| &body.detail).take(MOST_VIOLATIONS);
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
