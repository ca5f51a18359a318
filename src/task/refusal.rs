//! What it means that a submission was not accepted: whether it was paid, and whether it may be
//! sent again.

use std::time::Duration;

use progenitor_client::Error as ClientError;

use super::{
    acceptance::{has_polling_url, named_task},
    exchange::{Failure, NoResponse},
};
use crate::{
    Client, Error, ErrorKind, Request,
    transport::{
        complaint::{Complaint, named},
        failure::was_not_taken,
        redaction::Redaction,
        response::Response,
        retry::retry_after,
        status::{Meaning, Submission},
    },
};

/// How one attempt went wrong.
pub(super) enum Attempt {
    /// The service certainly did not take the submission, and it may be sent again after this long.
    NotTaken {
        error: Error,
        wait: Option<Duration>,
    },
    Failed(Error),
}

/// What is being refused.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Refused {
    Submission,
    Poll,
}

/// The error for a response that is not one of success, and what its status code means.
pub(super) fn error_of(
    client: &Client,
    what: Refused,
    response: &Response,
    redaction: &Redaction,
) -> (Error, &'static Meaning) {
    let meaning = Meaning::of(response.status);
    let complaint = Complaint::of(response, redaction);
    let (subject, kind) = match (what, meaning.kind) {
        (Refused::Submission, kind) => ("submission", kind),
        // The contract's limits are those of submissions.
        (Refused::Poll, ErrorKind::Validation) => ("poll", ErrorKind::Service),
        (Refused::Poll, kind) => ("poll", kind),
    };
    let message = format!(
        "{subject} failed: the service {} ({}){}",
        meaning.what,
        named(response.status),
        complaint.suffix()
    );
    let error = Error::new(kind, message)
        .with_status(response.status.as_u16())
        .with_request_id(response.request_id(redaction))
        .with_retry_after(retry_after(&response.headers, client.service().clock.now()))
        .with_violations(complaint.violations)
        .with_answer(complaint.answer);
    (error, meaning)
}

/// What a response that is not one of success means for the submission.
pub(super) fn refusal(
    client: &Client,
    base: &url::Url,
    request: &Request,
    response: &Response,
) -> Attempt {
    let redaction = Redaction::of_request(client.service(), request);
    let (error, meaning) = error_of(client, Refused::Submission, response, &redaction);
    // A refusal that tells where to poll the task contradicts itself, and what was paid is not sent
    // again.
    if meaning.submission == Submission::Unknown || has_polling_url(response) {
        let candidate = named_task(response, request.operation(), base, &redaction);
        return Attempt::Failed(match candidate {
            Some(named) => unknown(error).with_task(&named.task),
            None => unknown(error),
        });
    }
    let error = error.with_advice(format!("nothing was paid; {}", meaning.advice));
    match meaning.submission {
        Submission::Repeated => {
            let wait = error.retry_after();
            Attempt::NotTaken { error, wait }
        }
        _ => Attempt::Failed(error),
    }
}

/// What it means that there is no response.
pub(super) fn no_response(NoResponse { why, was_sent }: NoResponse) -> Attempt {
    let error = match why {
        // The body never came to its end, so there was no request that the service could take.
        Failure::File(fault) => {
            let error = Error::new(ErrorKind::File, format!("could not read an image: {fault}"));
            return Attempt::Failed(
                error.with_advice("the submission was abandoned, and nothing was paid"),
            );
        }
        Failure::Silent(limit) => Error::new(
            ErrorKind::Network,
            format!(
                "no response to the submission: the service was silent for {} s",
                limit.as_secs_f32()
            ),
        ),
        Failure::Failed(error) => match *error {
            ClientError::CommunicationError(error) if was_not_taken(&error) => {
                return not_taken(error);
            }
            ClientError::CommunicationError(error) if error.is_builder() => {
                return Attempt::Failed(
                    not_built("could not build the request").with_source(error.without_url()),
                );
            }
            ClientError::InvalidRequest(message) => return Attempt::Failed(not_built(&message)),
            ClientError::CommunicationError(error) => {
                Error::new(ErrorKind::Network, "the connection broke during the submission")
                    .with_source(error.without_url())
            }
            other => Error::new(ErrorKind::Reply, format!("could not read the response: {other}")),
        },
    };
    Attempt::Failed(match was_sent {
        true => unknown(error),
        false => error.with_advice("nothing was paid: the submission was not sent to its end"),
    })
}

fn not_taken(error: reqwest::Error) -> Attempt {
    let host = error.url().map(|url| url.authority().to_owned()).unwrap_or_default();
    let message = match error.is_connect() {
        true => format!("could not connect to {host}"),
        false => format!("{host} closed the connection before it took the submission"),
    };
    let error = Error::new(ErrorKind::Network, message)
        .with_advice("nothing was paid; check the base address and the network")
        .with_source(error.without_url());
    Attempt::NotTaken { error, wait: None }
}

fn not_built(message: &str) -> Error {
    Error::new(ErrorKind::Settings, message).with_advice("nothing was sent")
}

pub(super) fn unknown(error: Error) -> Error {
    error.with_billing_unknown().with_advice(
        "it is unknown whether the task was created and paid, so it was not sent again; check the service's usage \
         before you repeat it",
    )
}
