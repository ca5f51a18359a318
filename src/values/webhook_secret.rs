//! The secret of webhooks.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::REDACTED;

/// The secret that signs webhooks. Prints as `[redacted]`. Serialization writes the secret itself,
/// because the service needs it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct WebhookSecret(String);

impl WebhookSecret {
    /// Returns the secret.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl<S: Into<String>> From<S> for WebhookSecret {
    fn from(secret: S) -> Self {
        Self(secret.into())
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}
