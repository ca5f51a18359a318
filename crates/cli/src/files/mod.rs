//! The files of this machine: their directories, secrets, and the targets of pictures.

pub mod directory;
pub mod secret_file;
pub mod target;

use std::io::{self, Read};

/// Reads a source to its end, but at most one byte more than `limit`, which shows that it is too
/// long: a device may have no end.
pub fn bounded(source: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(limit + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
