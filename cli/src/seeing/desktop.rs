//! `--open`: opens a file with the desktop's program for it.

use std::{io, path::Path};

use tokio::task::spawn_blocking;

use crate::{output::Output, sanitize::printable};

/// Opens a file, which is saved, so a failure is only a warning. Does not wait until the
/// program ends.
pub async fn open(output: &Output, path: &Path) {
    let file = path.to_owned();
    let opened = spawn_blocking(move || open::that_detached(file)).await;
    let Err(error) = opened.map_err(io::Error::other).flatten() else { return };
    let why = match error.kind() {
        io::ErrorKind::NotFound => "found no program that opens files",
        // The error has exit codes of the launcher, which help nobody.
        _ => "the desktop has no program for it",
    };
    let path = printable(&path.to_string_lossy());
    output.warning(&format!("could not open {path}: {why}"));
}
