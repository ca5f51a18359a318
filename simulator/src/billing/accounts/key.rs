//! Stored API keys.

use axum::http::HeaderMap;
use sha2::{Digest as _, Sha256};

use super::{KEY_HEADER, ProjectRef};
use crate::values::secret::Secret;

/// The SHA-256 of a key, by which keys are found.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Digest([u8; 32]);

impl Digest {
    pub(super) fn of(key: &str) -> Self {
        Self(Sha256::digest(key).into())
    }
}

pub(super) struct Key {
    pub(super) name: String,
    pub(super) digest: Digest,
    pub(super) masked: String,
    /// The key itself, to reveal it.
    pub(super) secret: Secret<String>,
    pub(super) project: ProjectRef,
}

impl Key {
    pub(super) fn new(name: String, secret: Secret<String>, project: ProjectRef) -> Self {
        let (digest, masked) = (Digest::of(secret.expose()), masked(secret.expose()));
        Self { name, digest, masked, secret, project }
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
