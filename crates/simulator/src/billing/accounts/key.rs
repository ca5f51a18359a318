//! Stored API keys.

use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::ProjectRef;
use crate::{contract::key_header, runtime::chance::hex};

/// The SHA-256 digest of a key, by which the accounts find the key.
pub(super) fn digest(key: &str) -> String {
    hex(&Sha256::digest(key))
}

/// What the accounts store of a key, without the key itself.
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

/// The maximum number of characters of a key to show.
const MAX_SHOWN: usize = 4;

/// Masks a key: shows only its end, of at most four characters and at most a third of the key. That
/// is enough to tell the short keys of tests apart.
pub(super) fn masked(secret: &str) -> String {
    let hidden = secret.len() - MAX_SHOWN.min(secret.len() / 3);
    format!("…{}", secret.get(hidden..).unwrap_or_default())
}

/// Returns the masked key of a request, even if the key is not valid.
pub(crate) fn masked_key(headers: &HeaderMap) -> Option<String> {
    headers.get(key_header()).map(|key| masked(key.to_str().unwrap_or_default()))
}

/// Whether a key can be sent in a header, because it consists of visible ASCII characters.
pub(crate) fn is_sendable(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic())
}
