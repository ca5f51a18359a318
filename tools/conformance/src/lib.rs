//! Compares recordings of the service with the contract and with the types of the SDK.
//!
//! `kiln --record DIR` makes recordings, and `cargo conformance DIR` runs this program on
//! them. The document is checked with the JSON Schema validator of the simulator, and not through
//! the generated types, so each of the two checks finds errors of the other.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing))]

mod document;
mod finding;
mod recordings;
mod schema;
mod shape;
mod text;
mod types;

use imagekiln::{
    middleware::Purpose,
    recording::{RecordedBody, Recording},
};

pub use self::{
    document::Document,
    finding::{Finding, Side, collapsed},
    recordings::{File, Unreadable, read},
};
use self::{
    document::Operation,
    shape::{Problem, UnlistedValue},
};

/// Statuses of tasks in progress that are expected, although the contract leaves them open.
pub const IN_PROGRESS: [&str; 2] = ["Pending", "Processing"];

/// Compares a recording with the contract and with the types. `in_progress` are the expected
/// statuses of tasks in progress.
pub fn check(document: &Document, in_progress: &[String], file: &File) -> Vec<Finding> {
    let Recording { purpose, operation, .. } = &file.recording;
    let name = match purpose {
        Purpose::Poll => document.poll_operation(),
        _ => operation.as_deref().unwrap_or("an unnamed operation"),
    };
    let mut problems = match document.operation(name) {
        Some(operation) => {
            let request = request_problems(operation, &file.recording);
            [request, response_problems(operation, &file.recording, in_progress)].concat()
        }
        None => vec![(Side::Request, Problem::of_whole("the contract has no such operation"))],
    };
    // The order of the members of an object depends on the features of `serde_json`.
    problems.sort();
    let finding = |(side, Problem { pointer, expected })| Finding {
        file: file.name.clone(),
        operation: name.to_owned(),
        side,
        pointer,
        expected,
    };
    problems.into_iter().map(finding).collect()
}

/// Checks the request, if the service accepted it. A service that refuses a request that does not
/// fit does what the contract says.
fn request_problems(operation: &Operation, recording: &Recording) -> Vec<(Side, Problem)> {
    match (&operation.request, &recording.request) {
        (Some(schema), Some(RecordedBody::Json(body))) if is_success(recording.status) => {
            let problems = schema.check(&text::restored(body)).invalid;
            problems.into_iter().map(|problem| (Side::Request, problem)).collect()
        }
        _ => Vec::new(),
    }
}

fn response_problems(
    operation: &Operation,
    recording: &Recording,
    in_progress: &[String],
) -> Vec<(Side, Problem)> {
    let status = recording.status;
    let Some(schema) = operation.response(status) else {
        let expected = format!("expected one of {}, found {status}", operation.status_codes());
        return vec![(Side::Status, Problem::of_whole(&expected))];
    };
    let (schema, body) = match (schema, &recording.response) {
        (Some(schema), RecordedBody::Json(body)) => (schema, text::restored(body)),
        (Some(_), RecordedBody::Empty | RecordedBody::NotJson) => {
            return vec![(Side::Response, Problem::of_whole("expected a JSON document"))];
        }
        // The contract defines no body, or the recording has none.
        _ => return Vec::new(),
    };
    let shape = schema.check(&body);
    let typed = types::problems(recording.purpose, status, &body, &shape);
    let statuses = shape.statuses.iter().filter(|found| !in_progress.contains(&found.value));
    let statuses: Vec<_> = statuses.map(UnlistedValue::problem).collect();
    let problems = [shape.invalid, shape.unlisted, typed, statuses].concat();
    problems.into_iter().map(|problem| (Side::Response, problem)).collect()
}

fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}
