//! The SHA-256 digests of files.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

/// Digests of files, each of which is read once.
#[derive(Default)]
pub struct Digests(HashMap<PathBuf, Option<String>>);

impl Digests {
    /// Returns the digest of a file in lowercase hexadecimal. `None` if it can't be read.
    pub fn of(&mut self, path: &Path) -> Option<String> {
        self.0.entry(path.to_owned()).or_insert_with(|| of_file(path).ok()).clone()
    }
}

/// Returns the digest of a file in lowercase hexadecimal. Blocks.
pub fn of_file(path: &Path) -> io::Result<String> {
    let (mut file, mut digest) = (File::open(path)?, Sha256::new());
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            count => digest.update(buffer.get(..count).unwrap_or_default()),
        }
    }
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
