//! What a connection is doing, and until when its client must act.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
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

/// Closes a connection once it has been idle for this time after a response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdleClose(pub(crate) Duration);

/// The connections of a listener that wait for a request. Their number is limited, because each one
/// takes about 20 KiB, and clients can leave any number of them idle.
pub(crate) struct IdleConnections {
    max: usize,
    queue: Mutex<IdleQueue>,
}

#[derive(Default)]
struct IdleQueue {
    next_place: u64,
    /// Those that have waited longest come first.
    waiting: BTreeMap<u64, Weak<Activity>>,
}

impl IdleConnections {
    pub(super) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, queue: Mutex::default() })
    }

    fn queue(&self) -> MutexGuard<'_, IdleQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection and returns its place. If there are too many, the one that has waited
    /// longest loses its place and is returned.
    fn enter(&self, connection: &Arc<Activity>) -> (u64, Option<Arc<Activity>>) {
        let mut queue = self.queue();
        let place = queue.next_place;
        queue.next_place += 1;
        queue.waiting.insert(place, Arc::downgrade(connection));
        let is_full = queue.waiting.len() > self.max;
        let longest = is_full.then(|| queue.waiting.pop_first()).flatten();
        (place, longest.and_then(|(_, connection)| connection.upgrade()))
    }
}

/// The state of one connection, shared by everything that serves it.
pub(crate) struct Activity {
    timeout: Duration,
    idle_connections: Arc<IdleConnections>,
    state: Mutex<ConnectionState>,
    cut: Notify,
}

struct ConnectionState {
    /// Requests whose responses have not been handed over completely.
    exchanges: usize,
    /// Those for which the client waits: their handlers or bodies are not ready.
    working: usize,
    /// Since when the client is to act, unless it waits.
    since: Instant,
    /// The time after which an idle connection is closed, if it is not that of a slow client.
    idle_close: Option<Duration>,
    /// Among the idle connections.
    place: Option<u64>,
    cut: Option<Cut>,
}

impl Activity {
    pub(super) fn new(timeout: Duration, idle_connections: Arc<IdleConnections>) -> Arc<Self> {
        let state = Mutex::new(ConnectionState {
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

    fn state(&self) -> MutexGuard<'_, ConnectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on, the connection waits for a request. If too many do, the one that has waited
    /// longest is closed.
    fn wait(self: &Arc<Self>) {
        let (place, longest) = self.idle_connections.enter(self);
        self.state().place = Some(place);
        // A request may have arrived in this moment.
        if let Some(longest) = longest.filter(|longest| longest.is_idle()) {
            longest.cut_with(Cut::Close);
        }
    }

    /// Gives up its place among the idle connections.
    fn leave(&self) {
        let place = self.state().place.take();
        if let Some(place) = place {
            self.idle_connections.queue().waiting.remove(&place);
        }
    }

    /// The headers of a request have arrived.
    pub(super) fn start(self: &Arc<Self>) -> Exchange {
        self.leave();
        let mut state = self.state();
        state.exchanges += 1;
        state.working += 1;
        drop(state);
        Exchange { activity: Arc::clone(self), is_working: true }
    }

    /// When the client must have sent a request or have read a part of a response. `None` if it
    /// waits for the service, or if the time limit is endless.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let state = self.state();
        let timeout = state.idle_close.filter(|_| state.exchanges == 0).unwrap_or(self.timeout);
        if state.working == 0 { state.since.checked_add(timeout) } else { None }
    }

    /// Whether the connection has no request.
    pub(super) fn is_idle(&self) -> bool {
        self.state().exchanges == 0
    }

    pub(super) fn cut_with(&self, cut: Cut) {
        self.state().cut = Some(cut);
        self.cut.notify_one();
    }

    /// How the connection must end, if somebody cut it.
    pub(super) fn cut(&self) -> Option<Cut> {
        self.state().cut
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

/// A request and its response, until the response has been handed over or is dropped.
pub(super) struct Exchange {
    activity: Arc<Activity>,
    is_working: bool,
}

impl Exchange {
    /// The client waits for the service.
    pub(super) fn work(&mut self) {
        self.set_working(true);
    }

    /// The client is to read what the service has handed over.
    pub(super) fn hand_over(&mut self) {
        self.set_working(false);
        self.activity.state().since = Instant::now();
    }

    /// Closes the connection once it has been idle for this time.
    pub(super) fn close_when_idle(&self, IdleClose(time): IdleClose) {
        self.activity.state().idle_close = Some(time);
    }

    fn set_working(&mut self, is_working: bool) {
        let mut state = self.activity.state();
        state.working -= usize::from(self.is_working);
        state.working += usize::from(is_working);
        self.is_working = is_working;
    }

    /// Ends the connection in the middle of the response.
    pub(super) fn cut_with(&self, cut: Cut) {
        self.activity.cut_with(cut);
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.hand_over();
        let mut state = self.activity.state();
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
        // The second one has a request, so that it does not wait. Then it waits again.
        let exchange = connections[1].start();
        let _fourth = connect();
        assert_eq!(closed(&connections[1..]), [None, None]);
        drop(exchange);
        assert_eq!(closed(&connections[1..]), [None, Some(Cut::Close)]);
        connections.clear();
        assert_eq!(idle.queue().waiting.len(), 1, "only the fourth is left");
    }
}
