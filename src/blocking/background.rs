//! The thread that runs the futures of a blocking client and its clones. It ends after the last
//! submission and is never joined, so a client can be dropped anywhere.

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

/// The most operations that tokio can allow a future before it has to yield.
const LARGEST_BUDGET: usize = u8::MAX as usize;

/// Dropping it lets the thread end after the last submission.
pub(super) struct Background {
    runtime: Handle,
    _stop: oneshot::Sender<()>,
}

impl Background {
    /// Starts the thread of this client.
    pub(super) fn start(client: &crate::Client) -> Result<Arc<Self>, Error> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| {
            failed_to_start("could not create the runtime of the client", error)
        })?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        // Not the client, because that would keep its journal open.
        let submissions = Arc::clone(&client.shared.submissions);
        let work = move || {
            runtime.block_on(async {
                // Always an error: nothing is sent, the sender is dropped.
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

    /// Runs `work` on the thread, and waits for its outcome.
    pub(super) fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        refuse_in_async_code()?;
        let (sender, outcome) = mpsc::sync_channel(1);
        let work = async move {
            // The work is dropped before its outcome is sent. It may hold the last client, which
            // keeps the journal open.
            let outcome = work.await;
            // Cannot fail: the caller waits.
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

/// Fails if this thread is running a future, whose runtime must not be blocked.
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
/// A handle to the runtime does not prove it: threads of `spawn_blocking` have one, too, and may
/// block. But only futures have a budget of operations, so this uses it up, and then gives it back.
fn runs_a_future() -> bool {
    if Handle::try_current().is_err() {
        return false;
    }
    let mut context = Context::from_waker(Waker::noop());
    let mut operations: Vec<_> =
        (0..=LARGEST_BUDGET).map(|_| coop::poll_proceed(&mut context)).collect();
    // Each gives back what was left before it, so the first must be the last.
    operations.reverse();
    operations.iter().any(Poll::is_pending)
}
