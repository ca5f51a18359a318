//! The pictures that the user has marked as favourites. A file beside the history lists their
//! SHA-256 digests.

use std::{collections::BTreeSet, fs, io, path::PathBuf};

use crate::{
    failure::Failure,
    files::directory::{self, write_private},
    process::Process,
};

const NAME: &str = "favourites.json";

/// Returns the digests of the favourites. A damaged file is an error: if it counted as empty, the
/// next mark would replace the file, and all favourites would be lost.
pub fn read(process: &Process) -> Result<BTreeSet<String>, Failure> {
    let Some(file) = file(process) else { return Ok(BTreeSet::new()) };
    let content = match fs::read(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        content => content,
    };
    content.and_then(|content| Ok(serde_json::from_slice(&content)?)).map_err(|error| {
        Failure::file(format!("could not read the favourites in {}", file.display()), error)
            .advise("restore the file, or move it away to start without favourites")
    })
}

/// Marks or unmarks a picture.
pub fn mark(process: &Process, sha256: &str, is_favourite: bool) -> Result<(), Failure> {
    let mut favourites = read(process)?;
    if is_favourite {
        favourites.insert(sha256.to_owned());
    } else {
        favourites.remove(sha256);
    }
    let failed = |error| Failure::file("could not write the favourites", error);
    let file = file(process).ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
    let content =
        serde_json::to_string_pretty(&favourites).map_err(|error| failed(error.into()))?;
    write_private(&file, content + "\n").map_err(failed)
}

fn file(process: &Process) -> Option<PathBuf> {
    Some(directory::state(process)?.join(NAME))
}
