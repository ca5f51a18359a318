//! Strict parsing of webhook headers, and the encodings of signatures in them.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use reqwest::header::{HeaderMap, HeaderName};

use super::{Rejection, key::SIGNATURE};

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
    /// Decodes a signature. Returns `None` unless the text is in canonical form.
    pub(super) fn decode(self, text: &str) -> Option<[u8; SIGNATURE]> {
        match self {
            Self::Hex => from_hex(text),
            Self::Base64 => STANDARD.decode(text).ok()?.try_into().ok(),
        }
    }
}

fn from_hex(text: &str) -> Option<[u8; SIGNATURE]> {
    let mut bytes = [0; SIGNATURE];
    if text.len() != 2 * SIGNATURE {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(text.as_bytes().as_chunks().0) {
        *byte = 16 * digit(*high)? + digit(*low)?;
    }
    Some(bytes)
}

fn digit(character: u8) -> Option<u8> {
    match character {
        b'0'..=b'9' => Some(character - b'0'),
        b'a'..=b'f' => Some(character - b'a' + 10),
        _ => None,
    }
}
