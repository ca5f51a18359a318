//! What a client reports about its work: spans, and metrics. The guide `observe` has the tables of
//! both.

pub(crate) mod metrics;
pub(crate) mod spans;

use crate::TaskStatus;

/// Returns the name of a status for `error.type` and for labels, which take no text of the service.
/// A failure has the name of its [`ErrorKind`](crate::ErrorKind).
fn name_of(status: &TaskStatus) -> &'static str {
    match status {
        TaskStatus::Ready => "ready",
        TaskStatus::Error => "task_failed",
        TaskStatus::RequestModerated | TaskStatus::ContentModerated => "moderated",
        TaskStatus::TaskNotFound => "task_not_found",
        TaskStatus::InProgress(_) => "in_progress",
    }
}
