//! Encodes and decodes base64, and checks text that the caller declares to be base64.

use base64::{
    Engine,
    engine::{DecodePaddingMode, GeneralPurposeConfig},
};
use bytes::Bytes;

use super::text::{DATA_URL, is_data_url};

pub(crate) use self::codec::STANDARD;
use self::codec::{Codec, URL_SAFE};

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod codec {
    use std::sync::LazyLock;

    use super::LENIENT;

    pub(crate) type Codec = base64::engine::Simd;

    pub(crate) static STANDARD: LazyLock<Codec> = LazyLock::new(|| Codec::standard(LENIENT));
    pub(super) static URL_SAFE: LazyLock<Codec> = LazyLock::new(|| Codec::url_safe(LENIENT));
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod codec {
    use base64::alphabet;

    use super::LENIENT;

    pub(crate) type Codec = base64::engine::GeneralPurpose;

    pub(crate) static STANDARD: Codec = Codec::new(&alphabet::STANDARD, LENIENT);
    pub(super) static URL_SAFE: Codec = Codec::new(&alphabet::URL_SAFE, LENIENT);
}

/// The number of characters that a check decodes at a time. A multiple of 4, because base64 encodes
/// three bytes as four characters.
const GROUP: usize = 64 * 1024;

/// Also accepts missing padding and nonzero trailing bits, because the service may accept such
/// text.
const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);

/// Returns the text as it is sent verbatim between the quotes of a JSON string: valid base64
/// without its whitespace, or other text that needs no escape. `None` for text that needs escapes.
pub(crate) fn verbatim(text: &Bytes) -> Option<Bytes> {
    if is_plain(text) {
        return Some(text.clone());
    }
    let stripped = without_whitespace(text);
    is_valid(&stripped).then(|| stripped.into())
}

/// Whether the text is valid base64 in the standard or URL-safe alphabet, with or without padding,
/// optionally prefixed with `data:TYPE;base64,`. Ignores whitespace.
pub(crate) fn is_base64(text: &[u8]) -> bool {
    is_valid(text) || (!is_plain(text) && is_valid(&without_whitespace(text)))
}

/// Decodes about the first `length` bytes, without decoding the rest of the text. Returns `None` if
/// the decoded part is not base64.
///
/// `length` may be larger than what the text contains.
pub(crate) fn decode_head(text: &[u8], length: usize) -> Option<Vec<u8>> {
    let visible = || text.iter().copied().filter(|byte| !byte.is_ascii_whitespace());
    let prefix = if is_data_url(visible().take(DATA_URL.len()).collect::<Vec<_>>()) {
        visible().position(|byte| byte == b',')? + 1
    } else {
        0
    };
    let characters = length.min(text.len()).div_ceil(3) * 4;
    let start: Vec<u8> = visible().take(prefix + characters).collect();
    let data = data(&start)?;
    // Pass whole groups of four characters to the decoder, which accepts a shorter group only at
    // the end.
    let head = data.get(..characters).unwrap_or(data);
    STANDARD.decode(head).or_else(|_| URL_SAFE.decode(head)).ok()
}

fn without_whitespace(text: &[u8]) -> Vec<u8> {
    text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect()
}

/// Whether the text has no whitespace and no character that JSON escapes.
fn is_plain(text: &[u8]) -> bool {
    let is_special = |byte: u8| byte <= b' ' || byte == b'"' || byte == b'\\';
    // Use `fold` instead of `any`, because the compiler vectorizes a loop without an early exit.
    text.chunks(4096)
        .all(|group| !group.iter().fold(false, |found, byte| found | is_special(*byte)))
}

fn is_valid(text: &[u8]) -> bool {
    // Check the padding here, because the decoder also accepts incomplete padding.
    let is_padded_right = |data: &[u8]| data.last() != Some(&b'=') || data.len().is_multiple_of(4);
    data(text).is_some_and(|data| {
        is_padded_right(data) && (decodes(&STANDARD, data) || decodes(&URL_SAFE, data))
    })
}

/// Returns the text after the prefix of a `data:` URL, or all of the text if it has no such prefix.
/// `None` if the prefix is malformed or is not for base64.
fn data(text: &[u8]) -> Option<&[u8]> {
    if !is_data_url(text) {
        return Some(text);
    }
    let comma = text.iter().position(|byte| *byte == b',')?;
    let (head, data) = (text.get(..comma)?, text.get(comma + 1..)?);
    let is_plain = head.iter().all(|byte| byte.is_ascii_graphic() && !b"\"\\<>".contains(byte));
    (is_plain && head.to_ascii_lowercase().ends_with(b";base64")).then_some(data)
}

fn decodes(codec: &Codec, data: &[u8]) -> bool {
    let mut decoded = vec![0; data.len().min(GROUP) / 4 * 3 + 3];
    let mut groups = data.chunks(GROUP).peekable();
    while let Some(group) = groups.next() {
        let is_last = groups.peek().is_none();
        match codec.decode_slice(group, &mut decoded) {
            // A shorter result for a group that is not the last means that there is padding in the
            // middle of the text.
            Ok(length) if is_last || length == GROUP / 4 * 3 => {}
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use base64::{
        Engine, alphabet,
        engine::{
            DecodePaddingMode,
            general_purpose::{self, GeneralPurpose, GeneralPurposeConfig},
        },
    };
    use bytes::Bytes;
    use proptest::prelude::*;

    use super::{GROUP, decode_head, is_base64, is_plain, is_valid, verbatim};

    #[test]
    fn valid_text_uses_one_alphabet_and_has_full_padding_or_none() {
        for text in [
            "",
            "QQ==",
            "QQ",
            "QUI=",
            "QUI",
            "QUJD",
            "-_-_",
            "+/+/",
            "QR==",
            "data:image/png;base64,QUJD",
        ] {
            assert!(is_valid(text.as_bytes()), "{text}");
        }
        for text in [
            "Q",
            "QQ=",
            "QUJD=",
            "QQ==QQ==",
            "=QQ",
            "-_+/",
            "QU JD",
            "QU\"D",
            "fox.png",
            "\u{e9}",
            "data:image/png,QUJD",
            "data:;base64",
            "data:\";base64,QUJD",
            "data:image/png;base64,fox.png",
        ] {
            assert!(!is_valid(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn padding_between_two_groups_is_refused() {
        let mut text = "A".repeat(GROUP - 1);
        text.push('=');
        assert!(is_valid(text.as_bytes()));
        text.push_str("AAAA");
        assert!(!is_valid(text.as_bytes()));
    }

    fn reference_decodes(text: &[u8]) -> bool {
        [&alphabet::STANDARD, &alphabet::URL_SAFE].into_iter().any(|alphabet| {
            [DecodePaddingMode::RequireCanonical, DecodePaddingMode::RequireNone].into_iter().any(
                |padding| {
                    let config = GeneralPurposeConfig::new()
                        .with_decode_padding_mode(padding)
                        .with_decode_allow_trailing_bits(true);
                    GeneralPurpose::new(alphabet, config).decode(text).is_ok()
                },
            )
        })
    }

    proptest! {
        #[test]
        fn validity_agrees_with_a_reference_decoder(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            padded: bool,
            url_safe: bool,
            flaw in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
        ) {
            let engine = match (url_safe, padded) {
                (false, true) => general_purpose::STANDARD,
                (false, false) => general_purpose::STANDARD_NO_PAD,
                (true, true) => general_purpose::URL_SAFE,
                (true, false) => general_purpose::URL_SAFE_NO_PAD,
            };
            let mut text = engine.encode(&bytes).into_bytes();
            if let (Some((index, byte)), false) = (flaw, text.is_empty()) {
                let index = index.index(text.len());
                text[index] = byte;
                prop_assert_eq!(is_valid(&text), reference_decodes(&text));
            } else {
                prop_assert!(is_valid(&text));
                prop_assert_eq!(decode_head(&text, bytes.len()), Some(bytes.clone()));
                prop_assert_eq!(decode_head(&text, usize::MAX), Some(bytes));
            }
        }

        #[test]
        fn whitespace_is_removed_only_from_base64(text in "[A-Za-z0-9+/= \t\r\n\"\\\\.]{0,40}") {
            let stripped: String = text.split_ascii_whitespace().collect();
            prop_assert_eq!(is_base64(text.as_bytes()), is_valid(stripped.as_bytes()));
            let sent: Option<Bytes> = match is_base64(text.as_bytes()) {
                true => Some(stripped.into()),
                false if is_plain(text.as_bytes()) => Some(text.clone().into()),
                false => None,
            };
            prop_assert_eq!(verbatim(&Bytes::from(text)), sent);
        }

        #[test]
        fn decode_head_ignores_whitespace(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            length in 0usize..100,
            head in prop::option::of(prop_oneof![
                Just("data:image/png;base64,".to_owned()),
                Just(format!("data:image/png;name={};base64,", "x".repeat(2000))),
            ]),
            line in 1usize..80,
        ) {
            let prefix = head.unwrap_or_default();
            let text = format!("{prefix}{}", general_purpose::STANDARD.encode(&bytes));
            let lines: Vec<_> = text.as_bytes().chunks(line).collect();
            let decoded = decode_head(&lines.join(b"\r\n".as_slice()), length).unwrap();
            prop_assert!(bytes.starts_with(&decoded));
            prop_assert!(decoded.len() >= bytes.len().min(length));
        }

        #[test]
        fn plain_text_needs_no_json_escapes(text in any::<String>()) {
            let json = serde_json::to_string(&text).unwrap();
            let is_its_own_json = json == format!("\"{text}\"");
            prop_assert!(is_its_own_json || !is_plain(text.as_bytes()));
        }
    }
}
