//! What an exchange tells while it is under way.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

/// How far an exchange is: one for each attempt.
#[derive(Clone)]
pub(crate) struct Progress(Arc<State>);

struct State {
    started: Instant,
    /// When the body last moved, in milliseconds after the start.
    moved_at: AtomicU64,
    moves: AtomicU64,
    handed_over: AtomicBool,
    fault: OnceLock<String>,
}

impl Progress {
    pub(crate) fn start() -> Self {
        Self(Arc::new(State {
            started: Instant::now(),
            moved_at: AtomicU64::new(0),
            moves: AtomicU64::new(0),
            handed_over: AtomicBool::new(false),
            fault: OnceLock::new(),
        }))
    }

    /// When the HTTP client last took a frame of the body; the start, until it took the second one.
    pub(crate) fn last_move(&self) -> Instant {
        self.0.started + Duration::from_millis(self.0.moved_at.load(Ordering::Relaxed))
    }

    /// How many frames but the first the HTTP client took.
    #[cfg(test)]
    pub(super) fn moves(&self) -> u64 {
        self.0.moves.load(Ordering::Relaxed)
    }

    pub(super) fn moved(&self) {
        let after = self.0.started.elapsed().as_millis() as u64;
        self.0.moved_at.store(after, Ordering::Relaxed);
        self.0.moves.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the HTTP client has taken the last frame of the body.
    ///
    /// The client may still hold this frame in its buffers, so `true` does not mean that the
    /// service has the whole body. `false` does mean that it has not: it can't have accepted the
    /// submission.
    pub(crate) fn is_handed_over(&self) -> bool {
        self.0.handed_over.load(Ordering::Acquire)
    }

    pub(super) fn hand_over(&self) {
        self.0.handed_over.store(true, Ordering::Release);
    }

    /// Why an image could not be read to its end, if that is why the upload stopped.
    pub(crate) fn fault(&self) -> Option<&str> {
        self.0.fault.get().map(String::as_str)
    }

    pub(super) fn fail(&self, fault: String) {
        // The first one ended the upload.
        let _ = self.0.fault.set(fault);
    }
}
