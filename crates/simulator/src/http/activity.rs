//! Tracks what a connection is doing, and by when its client must act.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

use crate::runtime::Lock;

/// A request to end a connection, before a response or in the middle of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection is to be cut")]
pub(crate) enum Cut {
    /// Close the connection, as a server does that stops.
    Close,
    /// Reset the connection, as after a network failure.
    Reset,
}

/// An extension of a response: afterwards, the connection is closed when it has been idle for this
/// time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdleClose(pub(crate) Duration);

/// The connections of a listener that wait for a request. Their number is limited, because each of
/// them takes about 20 KiB of memory, and clients can leave any number of connections idle.
pub(crate) struct IdleConnections {
    max: usize,
    queue: Lock<IdleQueue>,
}

#[derive(Default)]
struct IdleQueue {
    next_place: u64,
    /// The waiting connections by their places. The one that has waited longest comes first.
    waiting: BTreeMap<u64, Weak<Activity>>,
}

impl IdleConnections {
    pub(super) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, queue: Lock::default() })
    }

    /// Adds a connection and returns its place. If there are now too many, also removes and returns
    /// the connection that has waited longest.
    fn enter(&self, connection: &Arc<Activity>) -> (u64, Option<Arc<Activity>>) {
        let mut queue = self.queue.lock();
        let place = queue.next_place;
        queue.next_place += 1;
        queue.waiting.insert(place, Arc::downgrade(connection));
        let is_full = queue.waiting.len() > self.max;
        let longest = is_full.then(|| queue.waiting.pop_first()).flatten();
        (place, longest.and_then(|(_, connection)| connection.upgrade()))
    }
}

/// The state of one connection, which everything that serves the connection shares.
pub(crate) struct Activity {
    timeout: Duration,
    idle_connections: Arc<IdleConnections>,
    state: Lock<ConnectionState>,
    cut: Notify,
}

struct ConnectionState {
    /// The number of requests whose responses have not been handed over completely.
    exchanges: usize,
    /// The number of those requests for which the client waits for the service, because the handler
    /// or the next part of the body is not ready.
    working: usize,
    /// The time since which the client has to act, if `working` is 0.
    since: Instant,
    /// The time after which the connection is closed if it is idle. `None` stands for the timeout
    /// of slow clients.
    idle_close: Option<Duration>,
    /// The place among the idle connections, if the connection is idle.
    place: Option<u64>,
    cut: Option<Cut>,
}

impl Activity {
    pub(super) fn new(timeout: Duration, idle_connections: Arc<IdleConnections>) -> Arc<Self> {
        let state = Lock::new(ConnectionState {
            exchanges: 0,
            working: 0,
            since: Instant::now(),
            idle_close: None,
            place: None,
            cut: None,
        });
        let activity = Arc::new(Self { timeout, idle_connections, state, cut: Notify::new() });
        activity.wait();
        activity
    }

    /// Called when the connection begins to wait for a request. If too many connections wait,
    /// closes the one that has waited longest.
    fn wait(self: &Arc<Self>) {
        let (place, longest) = self.idle_connections.enter(self);
        self.state.lock().place = Some(place);
        // Skip the connection if a request has just arrived on it.
        if let Some(longest) = longest.filter(|longest| longest.is_idle()) {
            longest.cut_with(Cut::Close);
        }
    }

    /// Gives up the place among the idle connections.
    fn leave(&self) {
        let place = self.state.lock().place.take();
        if let Some(place) = place {
            self.idle_connections.queue.lock().waiting.remove(&place);
        }
    }

    /// Called when the headers of a request have arrived.
    pub(super) fn start(self: &Arc<Self>) -> Exchange {
        self.leave();
        let mut state = self.state.lock();
        state.exchanges += 1;
        state.working += 1;
        drop(state);
        Exchange { activity: Arc::clone(self), is_working: true }
    }

    /// The time by which the client must have sent a request, or must have read a part of a
    /// response. `None` if the client is waiting for the service, or if the timeout is unlimited.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let state = self.state.lock();
        let timeout = state.idle_close.filter(|_| state.exchanges == 0).unwrap_or(self.timeout);
        if state.working == 0 { state.since.checked_add(timeout) } else { None }
    }

    /// Whether the connection has no request in progress.
    pub(super) fn is_idle(&self) -> bool {
        self.state.lock().exchanges == 0
    }

    /// Makes the connection close after it has been idle for this time.
    pub(super) fn close_when_idle(&self, IdleClose(time): IdleClose) {
        self.state.lock().idle_close = Some(time);
    }

    /// Ends the connection at once, even in the middle of a response.
    pub(super) fn cut_with(&self, cut: Cut) {
        self.state.lock().cut = Some(cut);
        self.cut.notify_one();
    }

    /// How the connection must end, if it was cut.
    pub(super) fn cut(&self) -> Option<Cut> {
        self.state.lock().cut
    }

    pub(super) async fn until_cut(&self) {
        self.cut.notified().await;
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        self.leave();
    }
}

/// A request with its response, until the response has been handed over completely or is dropped.
pub(super) struct Exchange {
    pub(super) activity: Arc<Activity>,
    is_working: bool,
}

impl Exchange {
    /// Whether the client waits for the service from now on. Otherwise, the client has to read what
    /// the service has handed over.
    pub(super) fn set_working(&mut self, is_working: bool) {
        let mut state = self.activity.state.lock();
        state.working -= usize::from(self.is_working);
        state.working += usize::from(is_working);
        if !is_working {
            state.since = Instant::now();
        }
        self.is_working = is_working;
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.set_working(false);
        let mut state = self.activity.state.lock();
        state.exchanges -= 1;
        let is_last = state.exchanges == 0;
        drop(state);
        if is_last {
            self.activity.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_that_have_waited_longest_are_closed() {
        let idle = IdleConnections::new(2);
        let connect = || Activity::new(Duration::from_secs(1), Arc::clone(&idle));
        let mut connections: Vec<_> = (0..3).map(|_| connect()).collect();
        let closed = |connections: &[Arc<Activity>]| {
            connections.iter().map(|connection| connection.cut()).collect::<Vec<_>>()
        };
        assert_eq!(closed(&connections), [Some(Cut::Close), None, None]);
        // The second connection has a request, so it is not among the idle ones. Later it is idle
        // again.
        let exchange = connections[1].start();
        let _fourth = connect();
        assert_eq!(closed(&connections[1..]), [None, None]);
        drop(exchange);
        assert_eq!(closed(&connections[1..]), [None, Some(Cut::Close)]);
        connections.clear();
        assert_eq!(idle.queue.lock().waiting.len(), 1, "only the fourth is left");
    }
}
