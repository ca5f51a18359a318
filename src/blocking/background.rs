//! The thread that runs the futures of a blocking client and its clones. After the program has
//! dropped all clients, tasks and pictures that use the thread, the thread completes the
//! submissions in flight and ends. Nothing joins the thread, so dropping a client never blocks,
//! even in async code.

use std::{
    sync::{Arc, mpsc},
    task::{Context, Poll, Waker},
    thread,
};

use tokio::{
    runtime::{Builder, Handle},
    sync::oneshot,
    task::coop,
};
use tracing::Instrument;

use crate::{Error, ErrorKind};

/// The maximum number of operations that tokio can allow a future before the future has to yield.
const LARGEST_BUDGET: usize = u8::MAX as usize;

/// The handle to the thread. When it is dropped, the thread ends after the last submission.
pub(super) struct Background {
    runtime: Handle,
    _stop: oneshot::Sender<()>,
}

impl Background {
    /// Starts the thread of a client.
    pub(super) fn start(client: &crate::Client) -> Result<Arc<Self>, Error> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| {
            failed_to_start("could not create the runtime of the client", error)
        })?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        // Keep only the submissions, because keeping the client would keep its journal open.
        let submissions = Arc::clone(&client.shared.submissions);
        let work = move || {
            runtime.block_on(async {
                // Wait until the sender is dropped. This always returns an error, because nothing
                // is ever sent.
                let _ = stopped.await;
                submissions.all_ended().await;
            });
        };
        thread::Builder::new()
            .name("imagekiln".to_owned())
            .spawn(work)
            .map_err(|error| failed_to_start("could not start the thread of the client", error))?;
        Ok(Arc::new(Self { runtime: handle, _stop: stop }))
    }

    /// Runs `work` on the thread of the client, and blocks the calling thread until its outcome is
    /// known. Fails if it is called in async code.
    pub(super) fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        refuse_in_async_code()?;
        let (sender, outcome) = mpsc::sync_channel(1);
        let work = async move {
            // Awaiting `work` drops it before the outcome is sent. This matters because `work` may
            // hold the last client, which keeps the journal open.
            let outcome = work.await;
            // Cannot fail, because the caller waits for the outcome.
            let _ = sender.send(outcome);
        };
        self.runtime.spawn(work.in_current_span());
        outcome.recv().unwrap_or_else(|_| {
            // The work panicked, which drops the sender.
            let message = "the call ended without an outcome";
            Err(Error::new(ErrorKind::Network, message)
                .with_billing_unknown()
                .with_advice("check the usage at the service before you submit again"))
        })
    }
}

fn failed_to_start(message: &str, error: std::io::Error) -> Error {
    Error::new(ErrorKind::Settings, message)
        .with_advice("nothing was sent; check the limits on threads and open files")
        .with_source(error)
}

/// Fails if this thread is running a future, because a blocked thread would stop the other tasks of
/// the runtime.
pub(super) fn refuse_in_async_code() -> Result<(), Error> {
    if !runs_a_future() {
        return Ok(());
    }
    let message = "the blocking client was called in async code";
    Err(Error::new(ErrorKind::Usage, message).with_advice(
        "nothing was sent; use imagekiln::Client there, or call it in tokio::task::spawn_blocking",
    ))
}

/// Whether tokio is polling a future on this thread.
///
/// Checking for a handle to a runtime is not enough: threads of `spawn_blocking` also have one,
/// although they may block. Only futures have a budget of operations. So this function uses up the
/// budget: if an operation is refused, the thread is running a future. Then it gives the budget
/// back.
fn runs_a_future() -> bool {
    if Handle::try_current().is_err() {
        return false;
    }
    let mut context = Context::from_waker(Waker::noop());
    let mut operations: Vec<_> =
        (0..=LARGEST_BUDGET).map(|_| coop::poll_proceed(&mut context)).collect();
    // Dropping the result of an operation restores the budget that was left before this operation.
    // So drop the results in reverse order: the last one to be dropped then restores the full
    // budget.
    operations.reverse();
    operations.iter().any(Poll::is_pending)
}
