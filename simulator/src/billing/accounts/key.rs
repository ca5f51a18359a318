//! Stored API keys.

use axum::http::HeaderMap;

use super::{KEY_HEADER, ProjectRef};
use crate::values::secret::Secret;

pub(super) struct Key {
    pub(super) name: String,
    pub(super) secret: Secret<String>,
    pub(super) project: ProjectRef,
}

impl Key {
    pub(super) fn masked(&self) -> String {
        masked(self.secret.expose())
    }
}

/// A masked key: its last four characters, if at least eight others stay hidden.
fn masked(secret: &str) -> String {
    let shown = secret.len().checked_sub(4).filter(|hidden| *hidden >= 8);
    format!("…{}", shown.and_then(|hidden| secret.get(hidden..)).unwrap_or_default())
}

/// The masked key of a request, whether or not it is valid.
pub(crate) fn masked_key(headers: &HeaderMap) -> Option<String> {
    headers.get(KEY_HEADER).map(|key| masked(key.to_str().unwrap_or_default()))
}

/// Whether a key is valid: visible ASCII characters.
pub(crate) fn is_sendable(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic())
}
