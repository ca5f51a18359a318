//! Entry points for the fuzz targets and the histories: parsers of settings and of text stored in a
//! ledger, and ways to make a ledger fail.
//!
//! Not part of the interface. Programs can't rely on anything here.

use std::path::{Path, PathBuf};

use imagekiln::journal::Directory;

use crate::{Error, Ledger};
pub use crate::{ledger::Clocks, output::OutputTarget as Output};

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

/// Reads the output of a batch.
pub fn output(text: &str) -> Result<Output, Error> {
    Output::new(text)
}

/// Reads where a picture was saved: the output, and the key below it.
pub fn location(text: &str) -> Result<(Output, String), Error> {
    Output::of_location(text)
}
