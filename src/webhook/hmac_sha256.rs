//! HMAC-SHA256 of the raw body in a header.

use reqwest::header::{HeaderMap, HeaderName};

use super::{
    Encoding, Rejection,
    event::Verified,
    header::{malformed, only},
    key::{Key, any_matches},
};

#[derive(Clone)]
pub(super) struct HmacSha256 {
    pub(super) keys: Vec<Key>,
    pub(super) header: HeaderName,
    pub(super) prefix: String,
    pub(super) encoding: Encoding,
}

impl HmacSha256 {
    pub(super) fn new() -> Self {
        Self {
            keys: Vec::new(),
            header: HeaderName::from_static("x-webhook-signature"),
            prefix: "sha256=".to_owned(),
            encoding: Encoding::Hex,
        }
    }

    pub(super) fn verify(&self, headers: &HeaderMap, body: &[u8]) -> Result<Verified, Rejection> {
        let given = only(headers, &self.header)?
            .strip_prefix(&self.prefix)
            .ok_or_else(|| malformed(&self.header, "does not start with the expected prefix"))?;
        let signature = self.encoding.decode(given).ok_or_else(|| {
            malformed(
                &self.header,
                match self.encoding {
                    Encoding::Hex => "is not a signature of 64 lowercase hexadecimal digits",
                    Encoding::Base64 => "is not a signature in base64 with padding",
                },
            )
        })?;
        if any_matches(&self.keys, &[body], &[signature]) {
            // The signature already is a hash of the body.
            Ok(Verified { message_id: None, fingerprint: signature })
        } else {
            Err(Rejection::Wrong { header: self.header.to_string() })
        }
    }
}
