//! Idempotency keys: a program's own names for the pictures that it wants.

use serde::{Deserialize, Serialize};

/// An idempotency key: the program's own name for a picture, for example `order-17/cover`.
/// [`Client::submit_once`](crate::Client::submit_once) pays for each key at most once.
///
/// If a key has certainly ended without a picture, for example because its task failed, the program
/// can request the picture again as the next attempt. The service bills each attempt separately.
///
/// ```
/// use imagekiln::journal::Key;
///
/// let second = Key::new("order-17/cover").attempt(2);
/// assert_eq!(second.name(), "order-17/cover");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[must_use]
pub struct Key {
    name: String,
    attempt: u32,
    /// The base URL of the client, which the client sets.
    #[serde(default)]
    service: String,
}

impl Key {
    /// Creates the key of the first attempt.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), attempt: 1, service: String::new() }
    }

    /// Sets the number of the attempt, starting at 1. 0 counts as 1.
    pub fn attempt(self, number: u32) -> Self {
        Self { attempt: number.max(1), ..self }
    }

    pub(crate) fn of_service(self, service: &str) -> Self {
        Self { service: service.to_owned(), ..self }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of the attempt, starting at 1.
    pub fn number(&self) -> u32 {
        self.attempt
    }

    /// Returns the base URL of the service. Empty until a client uses the key.
    pub fn service(&self) -> &str {
        &self.service
    }
}

impl<T: Into<String>> From<T> for Key {
    fn from(name: T) -> Self {
        Self::new(name)
    }
}
