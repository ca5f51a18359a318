//! Classifies a submission that was not accepted: whether it was billed, and whether it may be sent
//! again.

use std::{collections::BTreeSet, time::Duration};

use progenitor_client::Error as ClientError;
use reqwest::StatusCode;

use super::{
    Shared,
    acceptance::{find_task, has_polling_url},
    drift::Findings,
    exchange::{ExchangeFailure, NoResponse},
};
use crate::{
    Error, ErrorKind, Request,
    contract::{Unexpected, read_response},
    retry::{
        retry_after,
        status::{Meaning, SubmissionEffect, is_tls_failure, was_not_processed},
    },
    transport::{
        error_body::{ErrorBody, MOST_VIOLATIONS, named},
        redaction::Redaction,
        response::Response,
    },
    types::HttpValidationError,
};

/// How an attempt failed.
pub(super) enum SubmitFailure {
    /// The service certainly did not process the submission. It may be sent again after `wait`.
    Retryable {
        error: Error,
        wait: Option<Duration>,
    },
    Failed(Error),
}

/// The kind of request that failed.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum RequestKind {
    Submission,
    Poll,
}

/// Returns the error for a response without a success code, and the meaning of its status code.
/// Reports what the contract does not define in it.
pub(super) fn error_of(
    shared: &Shared,
    what: RequestKind,
    operation: Option<&str>,
    response: &Response,
    redaction: &Redaction,
) -> (Error, &'static Meaning) {
    let meaning = Meaning::of(response.status);
    if response.status == StatusCode::UNPROCESSABLE_ENTITY {
        report(shared, operation, response, redaction);
    }
    let error_body = ErrorBody::of(response, redaction);
    let (subject, kind) = match (what, meaning.kind) {
        (RequestKind::Submission, kind) => ("submission", kind),
        // A poll has no contract violations; those are about submissions.
        (RequestKind::Poll, ErrorKind::Validation) => ("poll", ErrorKind::Service),
        (RequestKind::Poll, kind) => ("poll", kind),
    };
    let message = format!(
        "{subject} failed: the service {} ({}){}",
        meaning.what,
        named(response.status),
        error_body.suffix()
    );
    let error = Error::new(kind, message)
        .with_status(response.status.as_u16())
        .with_request_id(response.request_id(redaction))
        .with_retry_after(retry_after(&response.headers, shared.service.clock.now()))
        .with_violations(error_body.violations)
        .with_response(error_body.response);
    (error, meaning)
}

/// Reports what the contract does not define in a response to an invalid request.
fn report(shared: &Shared, operation: Option<&str>, response: &Response, redaction: &Redaction) {
    let Some(mut body) = response.document().cloned() else { return };
    redaction.redact_json(&mut body);
    let (read, unexpected) = read_response::<HttpValidationError>(body);
    let mut findings =
        Findings { operation, response: "HTTPValidationError", unexpected, ..Findings::default() };
    let violations = read.iter().flat_map(|body| &body.detail).take(MOST_VIOLATIONS);
    let names: BTreeSet<_> = violations.flat_map(|violation| violation.extra.keys()).collect();
    let mut inner = Unexpected::default();
    names.iter().for_each(|name| inner.unlisted(name));
    findings.unexpected.within("detail", inner);
    shared.drift.report(findings.with_type_of(response));
}

/// Classifies a response without a success code to a submission.
pub(super) fn refusal(
    shared: &Shared,
    base: &url::Url,
    request: &Request,
    response: &Response,
) -> SubmitFailure {
    let redaction = Redaction::of_request(&shared.service.secrets, request);
    let operation = Some(request.operation().name);
    let (error, meaning) =
        error_of(shared, RequestKind::Submission, operation, response, &redaction);
    // A refusal with a polling URL contradicts itself: a task may exist and be billed. The
    // submission is not sent again.
    if meaning.submission == SubmissionEffect::Unknown || has_polling_url(response) {
        let candidate = find_task(response, request.operation(), base, &redaction);
        return SubmitFailure::Failed(match candidate {
            Some(found) => unknown(error).with_task(&found.task),
            None => unknown(error),
        });
    }
    let function =
        (meaning.kind == ErrorKind::RateLimited).then_some("ClientBuilder::max_active_tasks");
    let error = error
        .with_advice(format!("nothing was billed; {}", meaning.advice))
        .with_function(function);
    match meaning.submission {
        SubmissionEffect::Retried => {
            let wait = error.retry_after();
            SubmitFailure::Retryable { error, wait }
        }
        _ => SubmitFailure::Failed(error),
    }
}

/// Classifies a submission without a response.
pub(super) fn no_response(NoResponse { why, was_sent }: NoResponse) -> SubmitFailure {
    let error = match why {
        ExchangeFailure::Refused(refusal) => {
            return SubmitFailure::Failed(
                Error::refused(refusal)
                    .with_advice("nothing was billed; the client cancelled the attempt"),
            );
        }
        // The body was not sent completely, so the service had no request to accept.
        ExchangeFailure::File(fault) => {
            let error = Error::new(ErrorKind::File, format!("could not read an image: {fault}"));
            return SubmitFailure::Failed(
                error.with_advice("nothing was billed; the client cancelled the upload"),
            );
        }
        ExchangeFailure::Silent(limit) => Error::new(
            ErrorKind::Network,
            format!(
                "no response to the submission: no data from the service for {} s",
                limit.as_secs_f32()
            ),
        ),
        ExchangeFailure::Failed(error) => match *error {
            ClientError::CommunicationError(error) if is_tls_failure(&error) => {
                return SubmitFailure::Failed(no_tls(error));
            }
            ClientError::CommunicationError(error) if was_not_processed(&error) => {
                return not_processed(error);
            }
            ClientError::CommunicationError(error) if error.is_builder() => {
                return SubmitFailure::Failed(
                    not_built("could not build the request").with_source(error.without_url()),
                );
            }
            ClientError::InvalidRequest(message) => {
                return SubmitFailure::Failed(not_built(&message));
            }
            ClientError::CommunicationError(error) => {
                Error::new(ErrorKind::Network, "the connection broke during the submission")
                    .with_source(error.without_url())
            }
            other => {
                Error::new(ErrorKind::Response, format!("could not read the response: {other}"))
            }
        },
    };
    SubmitFailure::Failed(if was_sent {
        unknown(error)
    } else {
        error.with_advice("nothing was billed; the request was not sent completely")
    })
}

fn not_processed(error: reqwest::Error) -> SubmitFailure {
    let host = error.url().map(|url| url.authority().to_owned()).unwrap_or_default();
    let message = if error.is_connect() {
        format!("could not connect to {host}")
    } else {
        format!("{host} closed the connection before it processed the submission")
    };
    let error = Error::new(ErrorKind::Network, message)
        .with_advice("nothing was billed; check the base URL and the network")
        .with_source(error.without_url());
    SubmitFailure::Retryable { error, wait: None }
}

fn no_tls(error: reqwest::Error) -> Error {
    let host = error.url().map(|url| url.authority().to_owned()).unwrap_or_default();
    let advice = "nothing was billed; check the scheme and the port of the base URL, and that this \
                  machine trusts the certificate";
    Error::new(ErrorKind::Network, format!("could not establish a TLS connection to {host}"))
        .with_advice(advice)
        .with_source(error.without_url())
}

fn not_built(message: &str) -> Error {
    Error::new(ErrorKind::Settings, message).with_advice("nothing was sent")
}

pub(super) fn unknown(error: Error) -> Error {
    error.with_billing_unknown().with_advice(
        "it is unknown whether the task was created and billed, so the client did not send it \
         again; check the usage at the service before you submit it again",
    )
}
