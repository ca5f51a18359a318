//! Stored API keys.

use super::ProjectRef;

pub(super) struct Key {
    pub(super) name: String,
    pub(super) secret: String,
    pub(super) project: ProjectRef,
}

impl Key {
    /// The masked key: its last four characters, if at least eight others stay hidden.
    pub(super) fn masked(&self) -> String {
        let shown = self.secret.len().checked_sub(4).filter(|hidden| *hidden >= 8);
        format!("…{}", shown.and_then(|hidden| self.secret.get(hidden..)).unwrap_or_default())
    }
}

/// Whether a key is valid: visible ASCII characters.
pub(crate) fn is_sendable(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic())
}
