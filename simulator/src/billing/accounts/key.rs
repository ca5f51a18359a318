//! Stored API keys.

use super::ProjectRef;
use crate::values::secret::Secret;

pub(super) struct Key {
    pub(super) name: String,
    pub(super) secret: Secret<String>,
    pub(super) project: ProjectRef,
}

impl Key {
    /// The masked key: its last four characters, if at least eight others stay hidden.
    pub(super) fn masked(&self) -> String {
        let secret = self.secret.expose();
        let shown = secret.len().checked_sub(4).filter(|hidden| *hidden >= 8);
        format!("…{}", shown.and_then(|hidden| secret.get(hidden..)).unwrap_or_default())
    }
}

/// Whether a key is valid: visible ASCII characters.
pub(crate) fn is_sendable(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic())
}
