//! What a connection is doing, and until when its client has to do something.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// That a connection ends without its answer, or in the middle of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection is to be cut")]
pub(crate) enum Cut {
    /// Closed, as a server does that stops.
    Close,
    /// Reset, as by a network that forgot it.
    Reset,
}

/// Shared by everything that has to do with one connection.
pub(crate) struct Pulse {
    timeout: Duration,
    state: Mutex<State>,
    cut: Notify,
}

struct State {
    /// Handlers at work, and answers that the service itself holds back: the client waits for them,
    /// and not they for it.
    working: usize,
    /// Answers that are not handed over yet.
    answers: usize,
    /// Since when a head is on its way.
    head_since: Option<Instant>,
    /// Since when the client takes nothing though there is something to send.
    blocked_since: Option<Instant>,
    last_progress: Instant,
    /// In HTTP/2 not everything that arrives between requests begins another.
    http2: bool,
    cut: Option<Cut>,
}

impl Pulse {
    pub(crate) fn new(timeout: Duration) -> Arc<Self> {
        let now = Instant::now();
        let state = State {
            working: 0,
            answers: 0,
            head_since: Some(now),
            blocked_since: None,
            last_progress: now,
            http2: false,
            cut: None,
        };
        Arc::new(Self { timeout, state: Mutex::new(state), cut: Notify::new() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Until when the client has to do its part; `None` where the service itself is to act, or
    /// nobody.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let state = self.state();
        let waiting_since = state.blocked_since.or(match (state.working, state.answers) {
            (0, 0) => state.head_since,
            (0, _) => Some(state.last_progress),
            _ => None,
        });
        // Where the sum would not fit there is no end to wait for.
        waiting_since.and_then(|since| since.checked_add(self.timeout))
    }

    /// The client sent something.
    pub(crate) fn arrived(&self) {
        let mut state = self.state();
        if state.working == 0 && state.answers == 0 && !state.http2 && state.head_since.is_none() {
            state.head_since = Some(Instant::now());
        }
    }

    /// The client took something.
    pub(crate) fn left(&self) {
        let mut state = self.state();
        state.blocked_since = None;
        state.last_progress = Instant::now();
    }

    /// The client takes nothing just now.
    pub(crate) fn blocked(&self) {
        self.state().blocked_since.get_or_insert_with(Instant::now);
    }

    /// A head has arrived whole.
    pub(crate) fn asked(&self, http2: bool) {
        let mut state = self.state();
        state.head_since = None;
        state.http2 = http2;
    }

    /// The service has something to do for as long as the guard lives.
    pub(crate) fn work(self: &Arc<Self>) -> Work {
        self.state().working += 1;
        Work(Arc::clone(self))
    }

    /// An answer is on its way for as long as the guard lives.
    pub(crate) fn answer(self: &Arc<Self>) -> Answer {
        let mut state = self.state();
        state.answers += 1;
        state.last_progress = Instant::now();
        Answer(Arc::clone(self))
    }

    pub(crate) fn cut_off(&self, cut: Cut) {
        self.state().cut = Some(cut);
        self.cut.notify_one();
    }

    /// How the connection ends, if that was asked for.
    pub(crate) fn cut(&self) -> Option<Cut> {
        self.state().cut
    }

    pub(crate) async fn until_cut(&self) {
        self.cut.notified().await;
    }
}

pub(crate) struct Work(Arc<Pulse>);

impl Drop for Work {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.working -= 1;
        // What was held back goes out from now on.
        state.last_progress = Instant::now();
    }
}

pub(crate) struct Answer(Arc<Pulse>);

impl Drop for Answer {
    fn drop(&mut self) {
        self.0.state().answers -= 1;
    }
}
