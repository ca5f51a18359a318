//! Calls the methods of a journal, which may be code of the program: a panic or a hang in it must
//! not lose the task of a paid submission.

use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    task::Poll,
    time::Duration,
};

use tokio::time;

use super::{Journal, JournalError, JournalFuture, Step};
use crate::TaskRef;

/// Longer than a ledger waits for its database.
const LIMIT: Duration = Duration::from_secs(120);

/// Calls a method and awaits its future. A panic is an error, and so is a future that takes too
/// long.
pub(crate) async fn call<'a, T>(
    method: impl FnOnce() -> JournalFuture<'a, T>,
) -> Result<T, JournalError> {
    let calling = async {
        let mut future = pin!(caught(method)?);
        poll_fn(|context| {
            caught(|| future.as_mut().poll(context)).unwrap_or_else(|panic| Poll::Ready(Err(panic)))
        })
        .await
    };
    time::timeout(LIMIT, calling).await.unwrap_or_else(|_| {
        Err(format!("the journal did not respond within {} s", LIMIT.as_secs()).into())
    })
}

/// Records what happened to a task. A failure of the journal is only logged: the record stays open,
/// and whoever resumes it finds out the same again.
pub(crate) async fn note(journal: Option<&dyn Journal>, task: &TaskRef, step: &Step) {
    let (Some(journal), Some(submission)) = (journal, task.submission()) else { return };
    if let Err(error) = call(|| journal.advance(submission, step)).await {
        tracing::warn!(task_id = task.id(), %error, "could not write to the journal");
    }
}

/// Calls a function. A panic is an error.
pub(crate) fn caught<T>(function: impl FnOnce() -> T) -> Result<T, JournalError> {
    // Nothing of the client is used again that a panic could leave half changed.
    catch_unwind(AssertUnwindSafe(function)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        format!("the journal panicked: {text}").into()
    })
}
