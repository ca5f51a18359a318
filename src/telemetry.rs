//! Reports the work of a client to the program: spans around submissions, waits, polls and
//! downloads, and counters and histograms of the `metrics` facade. The guide `observe` lists the
//! spans and the metrics.
//!
//! Metrics use the `metrics` facade, which works with many exporters. Fields of events such as
//! `monotonic_counter.` would work only with one layer of tracing-opentelemetry, and
//! OpenTelemetry's own API would tie programs to its version. Spans have the fields that
//! reqwest-tracing writes and tracing-opentelemetry reads.
//!
//! Without the feature `metrics`, the client reports only spans. The values of labels come from
//! fixed lists, never from the service or from a stored reference: an exporter keeps a series for
//! each value, so invented values could exhaust its memory.

use std::time::Duration;

use tracing::{
    Instrument, Level, Span,
    field::{Empty, display},
};

use crate::{Billing, Error, TaskRef, TaskStatus, find_operation};

const SUBMISSIONS: &str = "imagekiln_submissions_total";
const CREDITS: &str = "imagekiln_credits";
const POLLS: &str = "imagekiln_polls_total";
const RETRIES: &str = "imagekiln_retries_total";
const PICTURES_SAVED: &str = "imagekiln_pictures_saved_total";
const REQUEST_DURATION: &str = "imagekiln_request_duration_seconds";
const WAIT_DURATION: &str = "imagekiln_wait_duration_seconds";

type Labels<'a> = &'a [(&'static str, &'static str)];

/// Registers the units and the descriptions of the metrics with the recorder of the program.
#[cfg(feature = "metrics")]
pub(crate) fn describe_metrics() {
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

pub(crate) fn submit_span(operation: &'static str) -> Span {
    tracing::info_span!(
        "submit",
        otel.name = span_name("submit", Some(operation)),
        otel.status_code = Empty,
        error.type = Empty,
        imagekiln.operation = operation,
        imagekiln.task.id = Empty,
        imagekiln.credits = Empty,
    )
}

/// Creates a span about a task. This is a macro, because the level and the name of a span must be
/// constants.
macro_rules! task_span {
    ($level:ident, $name:literal, $task:ident) => {
        tracing::span!(
            Level::$level,
            $name,
            otel.name = span_name($name, $task.operation()),
            otel.status_code = Empty,
            error.type = Empty,
            imagekiln.operation = $task.operation(),
            imagekiln.task.id = $task.id(),
            imagekiln.task.status = Empty,
        )
    };
}

pub(crate) fn wait_span(task: &TaskRef) -> Span {
    task_span!(INFO, "wait", task)
}

pub(crate) fn poll_span(task: &TaskRef) -> Span {
    task_span!(DEBUG, "poll", task)
}

pub(crate) fn download_span(task: &TaskRef) -> Span {
    task_span!(INFO, "download", task)
}

/// Returns the name of a span for OpenTelemetry: the action and, if it is known, its target.
pub(crate) fn span_name(action: &str, target: Option<&str>) -> String {
    target.map_or_else(|| action.to_owned(), |target| format!("{action} {target}"))
}

/// Runs `work` in `span`. If `work` fails, records the kind of the error in the span.
pub(crate) async fn run<T>(
    span: Span,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let outcome = work.instrument(span.clone()).await;
    if let Err(error) = &outcome {
        fail(&span, error.kind().as_str());
    }
    outcome
}

/// Marks a span as failed.
pub(crate) fn fail(span: &Span, error_type: &str) {
    span.record("otel.status_code", "ERROR");
    span.record("error.type", error_type);
}

/// Reports the end of a submission. `outcome` is the accepted task, or the error.
pub(crate) fn submitted(span: &Span, operation: &'static str, outcome: Result<&TaskRef, &Error>) {
    let (name, task) = match outcome.map_err(Error::billing) {
        Ok(task) | Err(Billing::Accepted(task)) => ("accepted", Some(task)),
        Err(Billing::NotBilled) => ("not_billed", None),
        Err(Billing::Unknown) => ("unknown", None),
    };
    count(SUBMISSIONS, &[("operation", operation), ("outcome", name)]);
    let Some(task) = task else { return };
    span.record("imagekiln.task.id", task.id());
    if let Some(credits) = task.cost() {
        span.record("imagekiln.credits", credits);
        observe(CREDITS, credits, &[("operation", operation)]);
    }
}

/// Reports the end of a poll.
pub(crate) fn polled(span: &Span, task: &TaskRef, outcome: Result<&TaskStatus, &Error>) {
    let outcome = record_outcome(span, outcome);
    count(POLLS, &[("operation", operation_of(task)), ("outcome", outcome)]);
}

/// Reports the end of a wait.
pub(crate) fn waited(
    span: &Span,
    task: &TaskRef,
    outcome: Result<&TaskStatus, &Error>,
    elapsed: Duration,
) {
    let outcome = record_outcome(span, outcome);
    let labels = [("operation", operation_of(task)), ("outcome", outcome)];
    observe(WAIT_DURATION, elapsed.as_secs_f64(), &labels);
}

pub(crate) fn retried(purpose: &'static str, error: &Error) {
    count(RETRIES, &[("purpose", purpose), ("reason", error.kind().as_str())]);
}

pub(crate) fn saved(task: &TaskRef) {
    count(PICTURES_SAVED, &[("operation", operation_of(task))]);
}

/// Reports the duration of an HTTP exchange. The module `transport::middleware` creates its span.
pub(crate) fn exchanged(purpose: &'static str, status: Option<u16>, elapsed: Duration) {
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

/// Records the outcome of a poll or a wait in its span. Returns a name of the outcome for labels.
/// The name comes from a fixed list, never from the text of the service.
fn record_outcome(span: &Span, outcome: Result<&TaskStatus, &Error>) -> &'static str {
    let (name, is_failure) = match outcome {
        Ok(status) => {
            span.record("imagekiln.task.status", display(status));
            (name_of(status), status.is_failure())
        }
        Err(error) => (error.kind().as_str(), true),
    };
    if is_failure {
        fail(span, name);
    }
    name
}

fn name_of(status: &TaskStatus) -> &'static str {
    match status {
        TaskStatus::RequestModerated | TaskStatus::ContentModerated => "moderated",
        TaskStatus::TaskNotFound => "task_not_found",
        status if status.is_failure() => "task_failed",
        status if status.is_success() => "ready",
        _ => "in_progress",
    }
}

/// Returns the name of the operation of a task as the value of a label. A stored reference can
/// contain any text, so an unknown operation becomes `unknown`.
fn operation_of(task: &TaskRef) -> &'static str {
    task.operation().and_then(find_operation).map_or("unknown", |operation| operation.name)
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
