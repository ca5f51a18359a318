//! SHA-256 digests as text.

use sha2::{Digest as _, Sha256};

/// Returns the first 16 hexadecimal digits of a digest of the texts. The digits do not reveal the
/// texts.
pub(crate) fn short_hash(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        // Also hash the lengths, so that `ab`, `c` and `a`, `bc` have different digests.
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text);
    }
    let mut digest = hex(hash);
    digest.truncate(16);
    digest
}

/// Returns the digest in lowercase hexadecimal.
pub(crate) fn hex(hash: Sha256) -> String {
    let digits = hash.finalize().into_iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}
