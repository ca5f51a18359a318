//! Failures of buckets, without secrets.
//!
//! The messages of `object_store` contain URLs, which may be signed, and responses, which quote the
//! request. A failure therefore contains only the parts that are known to be harmless, and no
//! source.

use std::{error, io, iter};

use object_store::Error as StoreError;

use crate::{
    Error, ErrorKind,
    output::target::{BucketUrl, Scheme},
};

/// The maximum length of an error code in a response.
const LONGEST_CODE: usize = 60;

/// Returns the error for a request to a bucket that failed.
pub(super) fn failed(what: &str, location: &str, scheme: Scheme, error: &StoreError) -> Error {
    let text = error.to_string();
    let status = status(&text);
    let (cause, advice) = explained(error, status, &text);
    let details = [
        status.map(|status| format!("status code {status}")),
        code(&text),
        transport(error).map(str::to_owned),
    ];
    let details: Vec<String> = details.into_iter().flatten().collect();
    let details =
        if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
    let variables = variables(scheme);
    let message = format!(
        "could not {what} {location}: {cause}{details}; {advice}, and {variables} in the \
         environment"
    );
    Error::new(ErrorKind::File, message)
}

/// Whether another attempt to write may succeed.
pub(super) fn is_transient(error: &StoreError) -> bool {
    match error {
        StoreError::AlreadyExists { .. } => true,
        StoreError::Generic { .. } => !matches!(status(&error.to_string()), Some(300..500)),
        _ => false,
    }
}

/// Returns the cause, and what to check first. Most causes are recognized by their status code,
/// because some operations report all status codes as the same variant.
fn explained(error: &StoreError, status: Option<u16>, text: &str) -> (&'static str, &'static str) {
    match (error, status) {
        (StoreError::AlreadyExists { .. }, _) => ("the object exists", "check who wrote it"),
        (_, Some(401 | 403)) => {
            ("the credentials were refused", "check the permissions to list, read and write")
        }
        (_, Some(404)) => ("the bucket does not exist", "check its name"),
        (StoreError::NotImplemented { .. }, _) => (
            "conditional writes are turned off",
            "turn them on to keep objects from being overwritten",
        ),
        _ if text.contains("incorrectly configured region") => {
            ("the bucket is in another region", "set its region")
        }
        _ => ("the request failed", "check the network"),
    }
}

pub(super) fn invalid_key(location: &str) -> Error {
    Error::new(ErrorKind::File, format!("could not use {location}: it is not a valid name"))
}

pub(super) fn invalid_settings(url: &BucketUrl, problem: &str) -> Error {
    let variables = variables(url.scheme);
    let message = format!("could not use {url}: {problem}; check {variables} in the environment");
    Error::new(ErrorKind::File, message)
}

/// Returns what is wrong with settings, without their values.
pub(super) fn problem(error: StoreError) -> String {
    let text = error.to_string();
    let is_missing = text.contains("must be specified") || text.contains("Missing");
    let problem = if is_missing { "a setting is missing" } else { "a setting is invalid" };
    problem.to_owned()
}

fn variables(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::S3 => "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT",
        Scheme::Gs => "GOOGLE_SERVICE_ACCOUNT",
        Scheme::Az | Scheme::Abfss => "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
    }
}

/// Returns the status code that a message of `object_store` contains.
fn status(text: &str) -> Option<u16> {
    text.split_once("status code: ")?.1.get(..3)?.parse().ok()
}

/// Returns the error code of a response of S3, Google or Azure, such as `NoSuchBucket`.
fn code(text: &str) -> Option<String> {
    let code = text.split_once("<Code>")?.1.split_once("</Code>")?.0;
    let is_code = code.len() <= LONGEST_CODE && code.bytes().all(|c| c.is_ascii_alphanumeric());
    is_code.then(|| code.to_owned())
}

/// Returns why there was no response.
fn transport(error: &StoreError) -> Option<&'static str> {
    let mut sources = iter::successors(error::Error::source(error), |error| error.source());
    let failed = sources.find_map(|error| error.downcast_ref::<io::Error>())?;
    Some(match failed.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused",
        io::ErrorKind::ConnectionReset => "connection reset",
        io::ErrorKind::TimedOut => "timed out",
        _ => "connection failed",
    })
}
