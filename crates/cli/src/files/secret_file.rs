//! Files that contain a secret and nothing else.

use std::{fs::File, path::Path};

use super::bounded;
use crate::{failure::Failure, process::Process};

/// The maximum size of a secret in bytes, so that reading an endless device can't exhaust the
/// memory.
const MAX_BYTES: u64 = 64 * 1024;

/// Reads a file, and removes the byte order mark and the last newline that editors add. Errors call
/// the file `what`, and never quote its content.
pub fn read(path: &Path, what: &str) -> Result<String, Failure> {
    let name = format!("{what} {}", path.display());
    File::open(path)
        .and_then(|file| bounded(file, MAX_BYTES))
        .map_err(|error| Failure::file(format!("could not read {name}"), error))
        .and_then(|bytes| text(bytes, &name))
}

/// Reads a secret from standard input.
pub fn read_stdin(process: &Process) -> Result<String, Failure> {
    bounded(&process.stdin, MAX_BYTES)
        .map_err(|error| Failure::file("could not read standard input", error))
        .and_then(|bytes| text(bytes, "standard input"))
}

fn text(bytes: Vec<u8>, name: &str) -> Result<String, Failure> {
    let wrong = |problem: &str| Failure::settings(format!("{name} {problem}"));
    if bytes.len() as u64 > MAX_BYTES {
        return Err(wrong("is larger than 64 KiB").advise("pass a file with only the secret in it"));
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong("is not valid UTF-8"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let secret =
        text.strip_suffix('\n').map_or(text, |line| line.strip_suffix('\r').unwrap_or(line));
    if secret.trim().is_empty() { Err(wrong("is empty")) } else { Ok(secret.to_owned()) }
}
