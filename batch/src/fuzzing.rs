//! The door of the fuzz targets: readers of settings and of a ledger's text, without the ledger.
//!
//! Not part of the interface. Programs can't rely on anything here.

use std::path::PathBuf;

use crate::{Error, output::OutputTarget};

/// Where pictures are saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// A folder of this machine.
    Folder(PathBuf),
    /// The URL of a bucket, with its prefix.
    Bucket(String),
}

impl From<OutputTarget> for Output {
    fn from(target: OutputTarget) -> Self {
        match target {
            OutputTarget::Folder(path) => Self::Folder(path),
            OutputTarget::Bucket(url) => Self::Bucket(url.to_string()),
        }
    }
}

/// Reads the output of a batch.
pub fn output(text: &str) -> Result<Output, Error> {
    OutputTarget::new(text).map(Output::from)
}

/// Reads where a picture was saved: the output, and the key below it.
pub fn location(text: &str) -> Result<(Output, String), Error> {
    OutputTarget::of_location(text).map(|(target, key)| (target.into(), key))
}
