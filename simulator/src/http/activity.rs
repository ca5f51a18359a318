//! The activity of a connection, and the deadline of its client.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

use super::idle_connections::{IdleConnections, IdleSlot};

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
    idle_connections: Arc<IdleConnections<Activity>>,
    /// While the connection waits for a request.
    idle_slot: Mutex<Option<IdleSlot<Activity>>>,
    cut: Notify,
}

struct ConnectionState {
    /// Running handlers, and response bodies that wait for the service: the client waits for them.
    working: usize,
    /// Responses that have not been handed over yet.
    responses: usize,
    /// Since when there is neither of them, or since when the headers of a request arrive.
    idle_since: Instant,
    /// Whether a part of the headers arrived since then, and whether a line of them is complete.
    head_started: bool,
    line_complete: bool,
    /// Since when the client does not read although there is data to send.
    blocked_since: Option<Instant>,
    last_progress: Instant,
    /// In HTTP/2, data between requests need not start another request.
    http2: bool,
    cut: Option<Cut>,
}

impl ConnectionState {
    fn is_idle(&self) -> bool {
        self.working == 0 && self.responses == 0
    }

    /// Called when a handler or a response has ended. Returns whether it was the last one.
    fn ended(&mut self) -> bool {
        if self.is_idle() {
            self.idle_since = Instant::now();
            self.head_started = false;
            self.line_complete = false;
        }
        self.is_idle()
    }
}

impl Activity {
    pub(crate) fn new(
        timeout: Duration,
        idle_connections: Arc<IdleConnections<Self>>,
    ) -> Arc<Self> {
        let now = Instant::now();
        let state = ConnectionState {
            working: 0,
            responses: 0,
            idle_since: now,
            // The first byte of a connection does not extend the time.
            head_started: true,
            line_complete: false,
            blocked_since: None,
            last_progress: now,
            http2: false,
            cut: None,
        };
        let (state, idle_slot, cut) = (Mutex::new(state), Mutex::default(), Notify::new());
        let activity = Arc::new(Self { timeout, state, idle_connections, idle_slot, cut });
        activity.wait();
        activity
    }

    /// From now on, the connection waits for a request. If too many do, those that have waited
    /// longest are closed.
    fn wait(self: &Arc<Self>) {
        let (slot, excess) = self.idle_connections.enter(Arc::downgrade(self));
        for connection in excess.iter().filter_map(Weak::upgrade) {
            // A request may have arrived in this moment.
            if connection.is_idle() {
                connection.cut_with(Cut::Close);
            }
        }
        self.set_idle_slot(Some(slot));
    }

    fn set_idle_slot(&self, slot: Option<IdleSlot<Self>>) {
        *self.idle_slot.lock().unwrap_or_else(PoisonError::into_inner) = slot;
    }

    fn state(&self) -> MutexGuard<'_, ConnectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When the client must have acted; `None` if the service is to act.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let state = self.state();
        let waiting_since = state.blocked_since.or(match (state.working, state.responses) {
            (0, 0) => Some(state.idle_since),
            (0, _) => Some(state.last_progress),
            _ => None,
        });
        // If the sum overflows, there is no deadline.
        waiting_since.and_then(|since| since.checked_add(self.timeout))
    }

    /// The client sent data.
    pub(crate) fn received(&self, data: &[u8]) {
        let mut state = self.state();
        if !state.is_idle() || state.http2 {
            return;
        }
        if !state.head_started {
            state.head_started = true;
            state.idle_since = Instant::now();
        }
        state.line_complete = state.line_complete || data.contains(&b'\n');
    }

    /// Whether the connection has no request.
    pub(crate) fn is_idle(&self) -> bool {
        self.state().is_idle()
    }

    /// Whether this is an HTTP/2 connection without a request.
    pub(crate) fn is_idle_http2(&self) -> bool {
        let state = self.state();
        state.http2 && state.is_idle()
    }

    /// Whether a line of the current headers is complete.
    pub(crate) fn line_complete(&self) -> bool {
        self.state().line_complete
    }

    /// The client read data.
    pub(crate) fn sent(&self) {
        let mut state = self.state();
        state.blocked_since = None;
        // In HTTP/2, the data may be the acknowledgment of a PING.
        if !state.http2 {
            state.last_progress = Instant::now();
        }
    }

    /// The client made room for another part of a response.
    pub(crate) fn progressed(&self) {
        self.state().last_progress = Instant::now();
    }

    /// The client does not read at the moment.
    pub(crate) fn blocked(&self) {
        self.state().blocked_since.get_or_insert_with(Instant::now);
    }

    /// The headers of a request have arrived.
    pub(crate) fn request_started(&self, http2: bool) {
        self.set_idle_slot(None);
        self.state().http2 = http2;
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
        let waits = {
            let mut state = self.0.state();
            state.working -= 1;
            // The client can read from now on.
            state.last_progress = Instant::now();
            state.ended()
        };
        if waits {
            self.0.wait();
        }
    }
}

pub(crate) struct PendingResponse(Arc<Activity>);

impl Drop for PendingResponse {
    fn drop(&mut self) {
        let waits = {
            let mut state = self.0.state();
            state.responses -= 1;
            state.ended()
        };
        if waits {
            self.0.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_that_have_waited_longest_are_closed() {
        let idle = IdleConnections::new(2);
        let connections: Vec<_> =
            (0..3).map(|_| Activity::new(Duration::from_secs(1), Arc::clone(&idle))).collect();
        let closed = |connections: &[Arc<Activity>]| {
            connections.iter().map(|connection| connection.cut()).collect::<Vec<_>>()
        };
        assert_eq!(closed(&connections), [Some(Cut::Close), None, None]);
        // The second one has a request, so that it does not wait. Then it waits again.
        connections[1].request_started(false);
        let work = connections[1].work();
        let _fourth = Activity::new(Duration::from_secs(1), Arc::clone(&idle));
        assert_eq!(closed(&connections[1..]), [None, None]);
        drop(work);
        assert_eq!(closed(&connections[1..]), [None, Some(Cut::Close)]);
    }
}
