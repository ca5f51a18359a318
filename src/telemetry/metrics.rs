//! Counters and histograms of the `metrics` facade. Without the feature `metrics`, these functions
//! do nothing.
//!
//! No label has a value that the service or a stored reference can invent, because each value is a
//! series that an exporter keeps.

use std::time::Duration;

use super::name_of;
use crate::{Billing, Error, TaskRef, TaskStatus, find_operation};

const SUBMISSIONS: &str = "imagekiln_submissions_total";
const CREDITS: &str = "imagekiln_credits";
const POLLS: &str = "imagekiln_polls_total";
const RETRIES: &str = "imagekiln_retries_total";
const PICTURES_SAVED: &str = "imagekiln_pictures_saved_total";
const REQUEST_DURATION: &str = "imagekiln_request_duration_seconds";
const WAIT_DURATION: &str = "imagekiln_wait_duration_seconds";

type Labels<'a> = &'a [(&'static str, &'static str)];

/// Describes the metrics to the recorder of the program.
#[cfg(feature = "metrics")]
pub(crate) fn describe() {
    use metrics::{Unit, describe_counter, describe_histogram};

    describe_counter!(SUBMISSIONS, Unit::Count, "Submissions that have ended.");
    describe_histogram!(CREDITS, "The cost of accepted submissions in credits.");
    describe_counter!(POLLS, Unit::Count, "Polls of tasks.");
    describe_counter!(RETRIES, Unit::Count, "Requests that failed and were repeated.");
    describe_counter!(PICTURES_SAVED, Unit::Count, "Pictures saved to files.");
    describe_histogram!(
        REQUEST_DURATION,
        Unit::Seconds,
        "The time from a request to the response headers."
    );
    describe_histogram!(WAIT_DURATION, Unit::Seconds, "The duration of waits for tasks.");
}

#[cfg(not(feature = "metrics"))]
pub(crate) fn describe() {}

/// Counts a submission. `outcome` is the accepted task, or the error.
pub(crate) fn submission(operation: &'static str, outcome: Result<&TaskRef, &Error>) {
    let (name, task) = match outcome.map_err(Error::billing) {
        Ok(task) | Err(Billing::Accepted(task)) => ("accepted", Some(task)),
        Err(Billing::NotBilled) => ("not_billed", None),
        Err(Billing::Unknown) => ("unknown", None),
    };
    count(SUBMISSIONS, &[("operation", operation), ("outcome", name)]);
    if let Some(credits) = task.and_then(TaskRef::cost) {
        observe(CREDITS, credits, &[("operation", operation)]);
    }
}

pub(crate) fn poll(task: &TaskRef, outcome: Result<&TaskStatus, &Error>) {
    count(POLLS, &[("operation", operation_of(task)), ("outcome", outcome_of(outcome))]);
}

pub(crate) fn wait(task: &TaskRef, outcome: Result<&TaskStatus, &Error>, elapsed: Duration) {
    let labels = [("operation", operation_of(task)), ("outcome", outcome_of(outcome))];
    observe(WAIT_DURATION, elapsed.as_secs_f64(), &labels);
}

pub(crate) fn retry(purpose: &'static str, error: &Error) {
    count(RETRIES, &[("purpose", purpose), ("reason", error.kind().as_str())]);
}

pub(crate) fn picture_saved(task: &TaskRef) {
    count(PICTURES_SAVED, &[("operation", operation_of(task))]);
}

pub(crate) fn request(purpose: &'static str, status: Option<u16>, elapsed: Duration) {
    let status = match status.map(|status| status / 100) {
        Some(2) => "2xx",
        Some(3) => "3xx",
        Some(4) => "4xx",
        Some(5) => "5xx",
        Some(_) => "other",
        None => "none",
    };
    let labels = [("purpose", purpose), ("status", status)];
    observe(REQUEST_DURATION, elapsed.as_secs_f64(), &labels);
}

/// Returns the operation of a task. A stored reference can name any text.
fn operation_of(task: &TaskRef) -> &'static str {
    task.operation().and_then(find_operation).map_or("unknown", |operation| operation.name)
}

fn outcome_of(outcome: Result<&TaskStatus, &Error>) -> &'static str {
    match outcome {
        Ok(status) => name_of(status),
        Err(error) => error.kind().as_str(),
    }
}

#[cfg(feature = "metrics")]
fn count(name: &'static str, labels: Labels<'_>) {
    metrics::counter!(name, labels).increment(1);
}

#[cfg(not(feature = "metrics"))]
fn count(_: &'static str, _: Labels<'_>) {}

#[cfg(feature = "metrics")]
fn observe(name: &'static str, value: f64, labels: Labels<'_>) {
    metrics::histogram!(name, labels).record(value);
}

#[cfg(not(feature = "metrics"))]
fn observe(_: &'static str, _: f64, _: Labels<'_>) {}
