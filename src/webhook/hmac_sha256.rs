//! HMAC-SHA256 of the raw body, in one header.

use reqwest::header::{HeaderMap, HeaderName};

use super::{
    Encoding, Refusal,
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

    pub(super) fn verify(&self, headers: &HeaderMap, body: &[u8]) -> Result<Verified, Refusal> {
        let given = only(headers, &self.header)?
            .strip_prefix(&self.prefix)
            .ok_or_else(|| malformed(&self.header, "does not begin with the expected prefix"))?;
        let signature = self.encoding.decode(given).ok_or_else(|| {
            malformed(
                &self.header,
                match self.encoding {
                    Encoding::Hex => "is not a signature of 64 hexadecimal digits in lower case",
                    Encoding::Base64 => "is not a signature in base64, with padding",
                },
            )
        })?;
        match any_matches(&self.keys, &[body], &[signature]) {
            // A signature of the body is a hash of it.
            true => Ok(Verified { message_id: None, fingerprint: signature }),
            false => Err(Refusal::Wrong { header: self.header.to_string() }),
        }
    }
}
