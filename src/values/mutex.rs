//! A mutex that a panic does not poison.

use std::sync::{self, MutexGuard, PoisonError};

/// A mutex without poisoning. Use it only for values that are valid at any time at which a thread
/// that holds the lock could panic.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
