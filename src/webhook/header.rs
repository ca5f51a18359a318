//! Strict parsing of webhook headers, and the encodings of signatures in them.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use reqwest::header::{HeaderMap, HeaderName};

use super::{Rejection, event::Fingerprint};

/// Returns the single value of a header as ASCII text.
pub(super) fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<&'a str, Rejection> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().ok_or_else(|| Rejection::Missing { header: name.to_string() })?;
    if values.next().is_some() {
        return Err(malformed(name, "occurs more than once"));
    }
    value.to_str().map_err(|_| malformed(name, "has characters that are not visible ASCII"))
}

pub(super) fn malformed(name: &HeaderName, problem: &'static str) -> Rejection {
    Rejection::Malformed { header: name.to_string(), problem }
}

/// The encoding of a signature in a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Encoding {
    /// 64 lowercase hexadecimal digits.
    Hex,
    /// Base64 with the standard alphabet and padding.
    Base64,
}

impl Encoding {
    /// Decodes a signature. Fails with the problem unless the text is in canonical form.
    pub(super) fn decode(self, text: &str) -> Result<Fingerprint, &'static str> {
        match self {
            Self::Hex => {
                from_hex(text).ok_or("is not a signature of 64 lowercase hexadecimal digits")
            }
            Self::Base64 => {
                let bytes = STANDARD.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
                bytes.ok_or("is not a signature in base64 with padding")
            }
        }
    }
}

fn from_hex(text: &str) -> Option<Fingerprint> {
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if text.len() != 64 || !text.bytes().all(is_digit) {
        return None;
    }
    let (high, low) = text.split_at_checked(32)?;
    let bytes = |digits| Some(u128::from_str_radix(digits, 16).ok()?.to_be_bytes());
    [bytes(high)?, bytes(low)?].concat().try_into().ok()
}
