//! Remedies if a picture can't be written to its target.

use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use tempfile::Builder;

use crate::{directory, process::Process};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// The directory does not exist and can be created.
    Mkdir,
    /// The file system is full, or does not take a file of this size.
    Space,
    /// Only another target helps.
    Elsewhere,
}

impl Remedy {
    /// The remedy for this error in the directory.
    pub fn of(error: ErrorKind, directory: &Path) -> Self {
        match error {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                Self::Space
            }
            ErrorKind::NotFound if can_be_created(directory) => Self::Mkdir,
            _ => Self::Elsewhere,
        }
    }

    /// The advice for running the command again.
    pub fn advice(self) -> Option<&'static str> {
        match self {
            Self::Space => Some("free some space first"),
            Self::Mkdir | Self::Elsewhere => None,
        }
    }

    /// The advice for a command that has sent nothing.
    pub fn correction(self) -> &'static str {
        match self {
            Self::Mkdir => "pass --mkdir to create the directory",
            Self::Space => "free some space, or pass another --output",
            Self::Elsewhere => "pass another --output",
        }
    }

    /// The options with which `kiln task save` can save the picture. `target` is the options that
    /// failed, without those that the history has.
    pub fn options(self, target: Vec<String>, process: &Process) -> Vec<String> {
        const MKDIR: &str = "--mkdir";
        match self {
            Self::Mkdir if !target.iter().any(|word| word == MKDIR) => {
                [target, vec![MKDIR.into()]].concat()
            }
            Self::Mkdir | Self::Space => target,
            Self::Elsewhere => match writable_directory(process) {
                Some(directory) => vec!["--output".into(), directory],
                None => target,
            },
        }
    }
}

/// Creates and deletes a temporary file. Its name is at least as long as those of temporary files
/// of pictures.
pub fn probe(directory: &Path) -> io::Result<()> {
    let mut name = Builder::new();
    let name = name.prefix(".kiln-probe-").rand_bytes(24).suffix(".part");
    name.tempfile_in(directory).map(drop)
}

/// An empty path is the working directory.
pub fn here_if_empty(directory: &Path) -> &Path {
    if directory.as_os_str().is_empty() { Path::new(".") } else { directory }
}

/// Whether the nearest parent that exists can be written to. A dangling link is not a directory.
fn can_be_created(directory: &Path) -> bool {
    let mut parents = directory.ancestors().map(here_if_empty);
    let existing = parents.find(|parent| fs::symlink_metadata(parent).is_ok());
    existing.is_some_and(|existing| probe(existing).is_ok())
}

/// The working directory, the home directory, or that of temporary files.
fn writable_directory(process: &Process) -> Option<String> {
    let temporary = process.temporary.clone();
    let directories = [Some(PathBuf::from(".")), directory::home(process), Some(temporary)];
    let directories = directories.into_iter().flatten().filter(|path| probe(path).is_ok());
    directories.filter_map(|path| path.into_os_string().into_string().ok()).next()
}
