//! The progress of an exchange, shared between the body stream and the exchange.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

/// The progress of one attempt.
#[derive(Clone)]
pub(crate) struct Progress(Arc<State>);

struct State {
    started: Instant,
    /// When the HTTP client last took a frame, in milliseconds after the start.
    moved_at: AtomicU64,
    moves: AtomicU64,
    handed_over: AtomicBool,
    error: OnceLock<String>,
}

impl Progress {
    pub(crate) fn start() -> Self {
        Self(Arc::new(State {
            started: Instant::now(),
            moved_at: AtomicU64::new(0),
            moves: AtomicU64::new(0),
            handed_over: AtomicBool::new(false),
            error: OnceLock::new(),
        }))
    }

    /// Returns when the HTTP client last took a frame of the body. Before it has taken the second
    /// frame, this is the start of the exchange.
    pub(crate) fn last_move(&self) -> Instant {
        self.0.started + Duration::from_millis(self.0.moved_at.load(Ordering::Relaxed))
    }

    /// Returns the number of frames that the HTTP client has taken, without the first.
    #[cfg(test)]
    pub(super) fn moves(&self) -> u64 {
        self.0.moves.load(Ordering::Relaxed)
    }

    pub(super) fn moved(&self) {
        let after = self.0.started.elapsed().as_millis() as u64;
        self.0.moved_at.store(after, Ordering::Relaxed);
        self.0.moves.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns whether the HTTP client has taken the last frame of the body.
    ///
    /// `true` does not mean that the service has the whole body, because the HTTP client may still
    /// buffer the frame. `false` means that the service cannot have the whole body and cannot have
    /// accepted the submission.
    pub(crate) fn is_handed_over(&self) -> bool {
        self.0.handed_over.load(Ordering::Acquire)
    }

    pub(super) fn hand_over(&self) {
        self.0.handed_over.store(true, Ordering::Release);
    }

    /// Returns why an image could not be read, if that stopped the upload.
    pub(crate) fn error(&self) -> Option<&str> {
        self.0.error.get().map(String::as_str)
    }

    pub(super) fn fail(&self, error: String) {
        // Keep the first error, which ended the upload.
        let _ = self.0.error.set(error);
    }
}
