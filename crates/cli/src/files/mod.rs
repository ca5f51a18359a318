//! The files of this machine: their directories, secrets, and the targets of pictures.

pub mod directory;
pub mod target;

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use crate::{failure::Failure, process::Process};

/// Reads a source to its end, but at most one byte more than `limit`, which shows that it is too
/// long: a device may have no end.
pub fn bounded(source: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(limit + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns `None` instead of an error if the file of an operation does not exist.
pub fn if_exists<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        done => done.map(Some),
    }
}

/// The maximum size of a secret in bytes, so that reading an endless device can't exhaust the
/// memory.
const LARGEST_SECRET: u64 = 64 * 1024;

/// Reads a file that contains a secret and nothing else. Removes the byte order mark and the last
/// newline that editors add. Errors call the file `what`, and never quote its content.
pub fn read_secret(path: &Path, what: &str) -> Result<String, Failure> {
    let name = format!("{what} {}", path.display());
    File::open(path)
        .and_then(|file| bounded(file, LARGEST_SECRET))
        .map_err(|error| Failure::file(format!("could not read {name}"), error))
        .and_then(|bytes| secret(bytes, &name))
}

/// Reads a secret from standard input.
pub fn read_secret_from_stdin(process: &Process) -> Result<String, Failure> {
    bounded(&process.stdin, LARGEST_SECRET)
        .map_err(|error| Failure::file("could not read standard input", error))
        .and_then(|bytes| secret(bytes, "standard input"))
}

fn secret(bytes: Vec<u8>, name: &str) -> Result<String, Failure> {
    let wrong = |problem: &str| Failure::settings(format!("{name} {problem}"));
    if bytes.len() as u64 > LARGEST_SECRET {
        return Err(wrong("is larger than 64 KiB").advise("pass a file with only the secret in it"));
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong("is not valid UTF-8"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let secret =
        text.strip_suffix('\n').map_or(text, |line| line.strip_suffix('\r').unwrap_or(line));
    if secret.trim().is_empty() { Err(wrong("is empty")) } else { Ok(secret.to_owned()) }
}
