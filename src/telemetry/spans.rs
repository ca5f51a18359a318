//! The spans around exchanges: a submission, a wait, a poll, a download.

use tracing::{
    Instrument, Level, Span,
    field::{Empty, display},
};

use super::name_of;
use crate::{Error, TaskRef, TaskStatus};

pub(crate) fn submit(operation: &'static str) -> Span {
    tracing::info_span!(
        "submit",
        otel.name = named("submit", Some(operation)),
        otel.status_code = Empty,
        error.type = Empty,
        imagekiln.operation = operation,
        imagekiln.task.id = Empty,
        imagekiln.credits = Empty,
    )
}

/// A span about a task. The level and the name of a span are constants, so this is a macro.
macro_rules! task_span {
    ($level:ident, $name:literal, $task:ident) => {
        tracing::span!(
            Level::$level,
            $name,
            otel.name = named($name, $task.operation()),
            otel.status_code = Empty,
            error.type = Empty,
            imagekiln.operation = $task.operation(),
            imagekiln.task.id = $task.id(),
            imagekiln.task.status = Empty,
        )
    };
}

pub(crate) fn wait(task: &TaskRef) -> Span {
    task_span!(INFO, "wait", task)
}

pub(crate) fn poll(task: &TaskRef) -> Span {
    task_span!(DEBUG, "poll", task)
}

/// Returns the name of a span for OpenTelemetry: what is done, and to what, if that is known.
pub(crate) fn named(action: &str, target: Option<&str>) -> String {
    target.map_or_else(|| action.to_owned(), |target| format!("{action} {target}"))
}

/// Runs `work` in `span`, and records the error if it fails.
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

/// Runs a download in a span of its own.
pub(crate) async fn run_download<T>(
    task: &TaskRef,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    run(task_span!(INFO, "download", task), work).await
}

pub(crate) fn accepted(span: &Span, task: &TaskRef) {
    span.record("imagekiln.task.id", task.id());
    if let Some(credits) = task.cost() {
        span.record("imagekiln.credits", credits);
    }
}

/// Records how a poll or a wait ended.
pub(crate) fn polled(span: &Span, outcome: Result<&TaskStatus, &Error>) {
    match outcome {
        Ok(status) => {
            span.record("imagekiln.task.status", display(status));
            if status.is_failure() {
                fail(span, name_of(status));
            }
        }
        Err(error) => fail(span, error.kind().as_str()),
    }
}

pub(crate) fn fail(span: &Span, error_type: &str) {
    span.record("otel.status_code", "ERROR");
    span.record("error.type", error_type);
}
