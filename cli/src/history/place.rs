//! Where the history is: in the directory in which this platform keeps the state of programs.

use std::path::PathBuf;

use crate::{
    directory::{self, STATE_DIR_VARIABLE},
    failure::Failure,
};

/// The directory of the history, which may not exist yet.
pub fn directory() -> Result<PathBuf, Failure> {
    let state = directory::state().ok_or_else(|| {
        Failure::settings("could not find a directory for the history: there is no home directory")
            .advise(format!("set {STATE_DIR_VARIABLE} to a directory, or pass --no-history"))
    })?;
    Ok(state.join("history"))
}
