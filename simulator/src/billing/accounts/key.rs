//! Stored API keys.

use axum::http::HeaderMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest as _, Sha256};

use super::{KEY_HEADER, ProjectRef};
use crate::runtime::chance::hex;

/// The SHA-256 of a key, by which keys are found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Digest([u8; 32]);

impl Digest {
    pub(super) fn of(key: &str) -> Self {
        Self(Sha256::digest(key).into())
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex(&self.0))
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        parsed(&text).map(Self).ok_or_else(|| de::Error::custom("expected 64 hexadecimal digits"))
    }
}

fn parsed(text: &str) -> Option<[u8; 32]> {
    let pairs = text.as_bytes().as_chunks::<2>().0.iter();
    let bytes = pairs.map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok());
    let bytes: [u8; 32] = bytes.collect::<Option<Vec<_>>>()?.try_into().ok()?;
    (hex(&bytes) == text).then_some(bytes)
}

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

/// How many characters of a key are shown.
const SHOWN: usize = 4;

/// A masked key: its last four characters, if at least eight others stay hidden.
pub(super) fn masked(secret: &str) -> String {
    let shown = secret.len().checked_sub(SHOWN).filter(|hidden| *hidden >= 8);
    format!("…{}", shown.and_then(|hidden| secret.get(hidden..)).unwrap_or_default())
}

/// Whether a text has the form of a masked key.
pub(super) fn is_masked(text: &str) -> bool {
    let shown = text.strip_prefix('…');
    shown.is_some_and(|shown| shown.is_empty() || (shown.len() == SHOWN && is_sendable(shown)))
}

/// The masked key of a request, whether or not it is valid.
pub(crate) fn masked_key(headers: &HeaderMap) -> Option<String> {
    headers.get(KEY_HEADER).map(|key| masked(key.to_str().unwrap_or_default()))
}

/// Whether a key is valid: visible ASCII characters.
pub(crate) fn is_sendable(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic())
}
