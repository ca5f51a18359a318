//! The encodings of signatures.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::key::SIGNATURE;

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
