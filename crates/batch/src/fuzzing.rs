//! Entry points for the fuzz targets and the histories: parsers of settings and of text stored in a
//! ledger, and ways to make a ledger fail.
//!
//! Not part of the interface. Programs can't rely on anything here.

use std::path::{Path, PathBuf};

use imagekiln::journal::Directory;

pub use crate::ledger::Clocks;
use crate::{Error, Ledger, output::OutputTarget};

/// Opens a ledger with these clocks, and with an acceptance log that `open` opens.
pub async fn open_ledger(
    path: &Path,
    clocks: Clocks,
    open: impl FnOnce(PathBuf) -> Result<Directory, imagekiln::Error> + Send + 'static,
) -> Result<Ledger, Error> {
    Ledger::open_logging(path, clocks, Box::new(open)).await
}

/// Runs a pragma of SQLite on the connection of a ledger, for example to make it fail.
pub async fn pragma(ledger: &Ledger, pragma: &str) -> Result<(), Error> {
    ledger.pragma(pragma).await
}

/// The output of a batch.
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
