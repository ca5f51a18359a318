//! Standard Webhooks (<https://www.standardwebhooks.com>), which sign the id, the timestamp and the
//! body.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use reqwest::header::{HeaderMap, HeaderName};
use sha2::{Digest, Sha256};

use super::{
    Encoding, Rejection,
    event::Verified,
    header::{malformed, only},
    key::{Key, any_matches},
};

const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// The prefix of symmetric signatures. Other versions use keys that the SDK does not have.
const VERSION: &str = "v1,";

/// The prefix of a base64-encoded secret.
pub(super) const SECRET_PREFIX: &str = "whsec_";

#[derive(Clone)]
pub(super) struct Standard {
    keys: Vec<Key>,
    pub(super) max_age: Duration,
}

impl Standard {
    pub(super) fn new() -> Self {
        Self { keys: Vec::new(), max_age: Duration::from_secs(300) }
    }

    /// A secret with the prefix `whsec_` is base64. Other text is used as the key itself and, if it
    /// is valid base64, also decoded: the contract does not define which one the service uses.
    pub(super) fn add(&mut self, secret: &str) {
        let decode = |text: &str| STANDARD.decode(text).ok().filter(|bytes| !bytes.is_empty());
        if let Some(bytes) = secret.strip_prefix(SECRET_PREFIX).and_then(decode) {
            return self.keys.extend(Key::new(&bytes));
        }
        self.keys.extend(Key::new(secret.as_bytes()));
        self.keys.extend(decode(secret).and_then(|bytes| Key::new(&bytes)));
    }

    pub(super) fn verify(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now: SystemTime,
    ) -> Result<Verified, Rejection> {
        let (id, timestamp) = (only(headers, &ID)?, only(headers, &TIMESTAMP)?);
        // If ids could contain dots, a different id, timestamp and body could have the same
        // signature.
        if id.is_empty() || id.contains('.') {
            return Err(malformed(&ID, "is empty or contains a dot"));
        }
        let sent_at = parse_seconds(timestamp).ok_or_else(|| {
            malformed(&TIMESTAMP, "is not a number of seconds since the Unix epoch")
        })?;
        let given = only(headers, &SIGNATURE)?;
        let signatures: Vec<_> = given
            .split(' ')
            .filter_map(|signature| Encoding::Base64.decode(signature.strip_prefix(VERSION)?))
            .collect();
        if signatures.is_empty() {
            return Err(malformed(&SIGNATURE, "has no signature of the form `v1,` and base64"));
        }
        let signed = [id.as_bytes(), b".", timestamp.as_bytes(), b".", body];
        if !any_matches(&self.keys, &signed, &signatures) {
            return Err(Rejection::Wrong { header: SIGNATURE.to_string() });
        }
        self.check_age(sent_at, now)?;
        Ok(Verified { message_id: Some(id.to_owned()), fingerprint: Sha256::digest(id).into() })
    }

    /// Checks the age of a delivery. Call it only after verifying the signature of the timestamp.
    fn check_age(&self, sent_at: u64, now: SystemTime) -> Result<(), Rejection> {
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let limit = self.max_age;
        let (age, ahead) = (now.saturating_sub(sent_at), sent_at.saturating_sub(now));
        if age > limit.as_secs() {
            return Err(Rejection::TooOld { age: Duration::from_secs(age), limit });
        }
        if ahead > limit.as_secs() {
            return Err(Rejection::FromFuture { ahead: Duration::from_secs(ahead), limit });
        }
        Ok(())
    }
}

/// Accepts only digits: the text itself is signed, so no other form can be valid.
fn parse_seconds(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}
