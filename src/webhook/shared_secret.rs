//! The secret itself in a header.

use reqwest::header::{HeaderMap, HeaderName};
use sha2::{Digest, Sha256};

use super::{
    Rejection,
    event::Verified,
    header::{malformed, only},
    key::{Key, Signature},
};

#[derive(Clone)]
pub(super) struct SharedSecret {
    secrets: Vec<(Key, Signature)>,
    pub(super) header: HeaderName,
    pub(super) prefix: String,
}

impl SharedSecret {
    pub(super) fn new() -> Self {
        let header = HeaderName::from_static("x-webhook-signature");
        Self { secrets: Vec::new(), header, prefix: String::new() }
    }

    /// Secrets are compared by their signatures, so that the duration reveals neither their content
    /// nor their length.
    pub(super) fn add(&mut self, secret: &[u8]) {
        self.secrets.extend(Key::new(secret).map(|key| {
            let signature = key.sign(&[secret]);
            (key, signature)
        }));
    }

    pub(super) fn verify(&self, headers: &HeaderMap, body: &[u8]) -> Result<Verified, Rejection> {
        let given = only(headers, &self.header)?
            .strip_prefix(&self.prefix)
            .ok_or_else(|| malformed(&self.header, "does not start with the expected prefix"))?;
        let is_known = self.secrets.iter().fold(false, |found, (key, expected)| {
            found | (key.sign(&[given.as_bytes()]) == *expected)
        });
        if is_known {
            Ok(Verified { message_id: None, fingerprint: Sha256::digest(body).into() })
        } else {
            Err(Rejection::Wrong { header: self.header.to_string() })
        }
    }
}
