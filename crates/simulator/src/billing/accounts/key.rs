//! Stored API keys.

use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::ProjectRef;
use crate::{contract::key_header, runtime::chance::hex};

/// The SHA-256 of a key, by which keys are found.
pub(super) fn digest(key: &str) -> String {
    hex(&Sha256::digest(key))
}

/// A key without the key itself.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Key {
    pub(super) number: u64,
    pub(super) name: String,
    pub(super) masked: String,
    pub(super) project: ProjectRef,
}

impl Key {
    pub(super) fn id(&self) -> String {
        format!("key-{}", self.number)
    }
}

/// The maximum number of characters of a key that are shown.
const MAX_SHOWN: usize = 4;

/// A masked key: its end, of at most four characters and a third of the key, so that the short keys
/// of tests can be told apart.
pub(super) fn masked(secret: &str) -> String {
    let hidden = secret.len() - MAX_SHOWN.min(secret.len() / 3);
    format!("…{}", secret.get(hidden..).unwrap_or_default())
}

/// The masked key of a request, whether or not it is valid.
pub(crate) fn masked_key(headers: &HeaderMap) -> Option<String> {
    headers.get(key_header()).map(|key| masked(key.to_str().unwrap_or_default()))
}

/// Whether a key is valid: visible ASCII characters.
pub(crate) fn is_sendable(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic())
}
