//! SHA-256 digests as text.

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

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

/// Returns the SHA-256 digest of a file in lowercase hexadecimal. Blocks.
///
/// For `kiln`.
pub fn digest_of_file(path: &Path) -> io::Result<String> {
    let (mut file, mut digest) = (File::open(path)?, Sha256::new());
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(digest)),
            count => digest.update(buffer.get(..count).unwrap_or_default()),
        }
    }
}

/// Returns the digest in lowercase hexadecimal.
pub(crate) fn hex(hash: Sha256) -> String {
    let digits = hash.finalize().into_iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}
