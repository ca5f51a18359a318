//! Values that are not printed.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::REDACTED;

/// A value that must not be printed: `Debug` prints `[redacted]`. Serialization writes the value
/// itself, because the service needs it.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Secret<T>(T);

/// The secret that signs webhooks.
pub type WebhookSecret = Secret<String>;

impl<T> Secret<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(value)
    }

    pub(crate) fn get(&self) -> &T {
        &self.0
    }
}

impl Secret<String> {
    /// Returns the secret.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl<S: Into<String>> From<S> for Secret<String> {
    fn from(secret: S) -> Self {
        Self(secret.into())
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}
