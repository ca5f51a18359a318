//! The progress of an exchange, shared between the body stream and the exchange.

use std::{
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

use super::PermitError;

/// The progress of one attempt.
#[derive(Clone)]
pub(crate) struct Progress(Arc<Upload>);

struct Upload {
    started: Instant,
    /// When the HTTP client last took a frame, in milliseconds after the start.
    last_frame_ms: AtomicU64,
    counted_frames: AtomicU64,
    all_frames_taken: AtomicBool,
    error: OnceLock<String>,
    refusal: Mutex<Option<PermitError>>,
}

impl Progress {
    pub(crate) fn start() -> Self {
        Self(Arc::new(Upload {
            started: Instant::now(),
            last_frame_ms: AtomicU64::new(0),
            counted_frames: AtomicU64::new(0),
            all_frames_taken: AtomicBool::new(false),
            error: OnceLock::new(),
            refusal: Mutex::default(),
        }))
    }

    /// Returns when the HTTP client last took a frame of the body. Before it has taken the second
    /// frame, this is the start of the exchange.
    pub(crate) fn last_frame_at(&self) -> Instant {
        self.0.started + Duration::from_millis(self.0.last_frame_ms.load(Ordering::Relaxed))
    }

    /// Returns the number of frames that the HTTP client has taken, without the first.
    #[cfg(test)]
    pub(super) fn counted_frames(&self) -> u64 {
        self.0.counted_frames.load(Ordering::Relaxed)
    }

    pub(super) fn count_frame(&self) {
        let after = self.0.started.elapsed().as_millis() as u64;
        self.0.last_frame_ms.store(after, Ordering::Relaxed);
        self.0.counted_frames.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns whether the HTTP client has taken the last frame of the body.
    ///
    /// `true` does not mean that the service has the whole body, because the HTTP client may still
    /// buffer the frame. `false` means that the service cannot have the whole body and cannot have
    /// accepted the submission.
    pub(crate) fn all_frames_taken(&self) -> bool {
        self.0.all_frames_taken.load(Ordering::Acquire)
    }

    pub(super) fn set_all_frames_taken(&self) {
        self.0.all_frames_taken.store(true, Ordering::Release);
    }

    /// Returns why an image could not be read, if that stopped the upload.
    pub(crate) fn error(&self) -> Option<&str> {
        self.0.error.get().map(String::as_str)
    }

    /// Takes why the attempt was not permitted. If there is a reason, nothing of the body was sent.
    pub(crate) fn take_refusal(&self) -> Option<PermitError> {
        self.0.refusal.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) fn refuse(&self, error: PermitError) {
        *self.0.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    pub(super) fn fail(&self, error: String) {
        // Keep the first error, which ended the upload.
        let _ = self.0.error.set(error);
    }
}
