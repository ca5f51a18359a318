//! Time and randomness, both of which a test can control, and a pool for slow work.

pub(crate) mod chance;
pub(crate) mod clock;
pub(crate) mod workers;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A mutex that can still be locked after a panic: one failed request must not fail all others.
#[derive(Default)]
pub(crate) struct Lock<T>(Mutex<T>);

impl<T> Lock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
