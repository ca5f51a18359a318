//! Reads the files of a directory.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use imagekiln::recording::Recording;

/// A recording and the name of its file.
#[derive(Debug)]
pub struct File {
    /// The name in the directory.
    pub name: String,
    /// The content.
    pub recording: Recording,
}

/// A file that is not a recording.
#[derive(Debug)]
pub struct Unreadable {
    /// The name in the directory.
    pub name: String,
    /// Why it could not be read.
    pub error: anyhow::Error,
}

/// Reads all files in `directory` whose names end in `.json`, in the order of their names.
///
/// # Errors
///
/// The directory could not be read, or contains no such file.
pub fn read(directory: &Path) -> Result<(Vec<File>, Vec<Unreadable>)> {
    let shown = directory.display();
    let entries = fs::read_dir(directory).with_context(|| format!("could not read {shown}"))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("could not read {shown}"))?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            paths.push(path);
        }
    }
    ensure!(!paths.is_empty(), "{shown} contains no recordings (*.json)");
    paths.sort();
    let (mut files, mut unreadable) = (Vec::new(), Vec::new());
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match parse(&path) {
            Ok(recording) => files.push(File { name, recording }),
            Err(error) => unreadable.push(Unreadable { name, error }),
        }
    }
    Ok((files, unreadable))
}

fn parse(path: &Path) -> Result<Recording> {
    let text = fs::read(path).context("could not read the file")?;
    let value: serde_json::Value = serde_json::from_slice(&text).context("is not JSON")?;
    serde_json::from_value(value).context("is not a recording")
}
