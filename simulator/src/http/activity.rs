//! The activity of a connection, and the deadline of its client.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

/// Ends a connection before or in the middle of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection is to be cut")]
pub(crate) enum Cut {
    /// Close it, as a server does when it stops.
    Close,
    /// Reset it, as after a network failure.
    Reset,
}

/// The state of one connection, shared by everything that serves it.
pub(crate) struct Activity {
    timeout: Duration,
    state: Mutex<ConnectionState>,
    cut: Notify,
}

struct ConnectionState {
    /// Running handlers, and response bodies that wait for the service: the client waits for them.
    working: usize,
    /// Responses that have not been handed over yet.
    responses: usize,
    /// When the headers of a request started to arrive.
    head_since: Option<Instant>,
    /// Since when the client does not read although there is data to send.
    blocked_since: Option<Instant>,
    last_progress: Instant,
    /// In HTTP/2, data between requests need not start another request.
    http2: bool,
    cut: Option<Cut>,
}

impl Activity {
    pub(crate) fn new(timeout: Duration) -> Arc<Self> {
        let now = Instant::now();
        let state = ConnectionState {
            working: 0,
            responses: 0,
            head_since: Some(now),
            blocked_since: None,
            last_progress: now,
            http2: false,
            cut: None,
        };
        Arc::new(Self { timeout, state: Mutex::new(state), cut: Notify::new() })
    }

    fn state(&self) -> MutexGuard<'_, ConnectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When the client must have acted; `None` if the service is to act, or neither.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let state = self.state();
        let waiting_since = state.blocked_since.or(match (state.working, state.responses) {
            (0, 0) => state.head_since,
            (0, _) => Some(state.last_progress),
            _ => None,
        });
        // If the sum overflows, there is no deadline.
        waiting_since.and_then(|since| since.checked_add(self.timeout))
    }

    /// The client sent data.
    pub(crate) fn received(&self) {
        let mut state = self.state();
        if state.working == 0 && state.responses == 0 && !state.http2 && state.head_since.is_none()
        {
            state.head_since = Some(Instant::now());
        }
    }

    /// The client read data.
    pub(crate) fn sent(&self) {
        let mut state = self.state();
        state.blocked_since = None;
        state.last_progress = Instant::now();
    }

    /// The client does not read at the moment.
    pub(crate) fn blocked(&self) {
        self.state().blocked_since.get_or_insert_with(Instant::now);
    }

    /// The headers of a request have arrived.
    pub(crate) fn request_started(&self, http2: bool) {
        let mut state = self.state();
        state.head_since = None;
        state.http2 = http2;
    }

    /// The service is working while the guard lives.
    pub(crate) fn work(self: &Arc<Self>) -> Working {
        self.state().working += 1;
        Working(Arc::clone(self))
    }

    /// A response is being sent while the guard lives.
    pub(crate) fn respond(self: &Arc<Self>) -> PendingResponse {
        let mut state = self.state();
        state.responses += 1;
        state.last_progress = Instant::now();
        PendingResponse(Arc::clone(self))
    }

    pub(crate) fn cut_with(&self, cut: Cut) {
        self.state().cut = Some(cut);
        self.cut.notify_one();
    }

    /// How the connection must end, if a handler requested it.
    pub(crate) fn cut(&self) -> Option<Cut> {
        self.state().cut
    }

    pub(crate) async fn until_cut(&self) {
        self.cut.notified().await;
    }
}

pub(crate) struct Working(Arc<Activity>);

impl Drop for Working {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.working -= 1;
        // The client can read from now on.
        state.last_progress = Instant::now();
    }
}

pub(crate) struct PendingResponse(Arc<Activity>);

impl Drop for PendingResponse {
    fn drop(&mut self) {
        self.0.state().responses -= 1;
    }
}
