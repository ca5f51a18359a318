//! The progress of an exchange, shared between the body stream and the exchange.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

use super::PermitError;

/// The progress of one attempt.
pub(crate) struct Progress {
    started: Instant,
    /// When the HTTP client last took a frame, in milliseconds after the start.
    last_frame_ms: AtomicU64,
    all_frames_taken: AtomicBool,
    failure: Mutex<Option<BodyFailure>>,
}

/// Why the body ended early.
pub(crate) enum BodyFailure {
    /// The attempt was not permitted. Nothing of the body was sent.
    Refused(PermitError),
    /// An image could not be read completely.
    File(String),
}

impl Progress {
    pub(crate) fn start() -> Self {
        Self {
            started: Instant::now(),
            last_frame_ms: AtomicU64::new(0),
            all_frames_taken: AtomicBool::new(false),
            failure: Mutex::default(),
        }
    }

    /// Returns when the HTTP client last took a frame of the body. Before it has taken the second
    /// frame, this is the start of the exchange.
    pub(crate) fn last_frame_at(&self) -> Instant {
        self.started + Duration::from_millis(self.last_frame_ms.load(Ordering::Relaxed))
    }

    pub(super) fn count_frame(&self) {
        let after = self.started.elapsed().as_millis() as u64;
        self.last_frame_ms.store(after, Ordering::Relaxed);
    }

    /// Returns whether the HTTP client has taken the last frame of the body.
    ///
    /// `true` does not mean that the service has the whole body, because the HTTP client may still
    /// buffer the frame. `false` means that the service cannot have the whole body and cannot have
    /// accepted the submission.
    pub(crate) fn all_frames_taken(&self) -> bool {
        self.all_frames_taken.load(Ordering::Acquire)
    }

    pub(super) fn set_all_frames_taken(&self) {
        self.all_frames_taken.store(true, Ordering::Release);
    }

    /// Takes why the body ended early, if it did.
    pub(crate) fn take_failure(&self) -> Option<BodyFailure> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) fn fail(&self, failure: BodyFailure) {
        // Keep the first failure, which ended the upload.
        let mut kept = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get_or_insert(failure);
    }
}
