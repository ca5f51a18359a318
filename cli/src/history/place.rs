//! Where the history is: in the directory in which this platform keeps the state of programs.

use std::{
    env,
    path::{Path, PathBuf},
};

use crate::failure::Failure;

/// Replaces the platform's directory.
pub const STATE_DIR_VARIABLE: &str = "KILN_STATE_DIR";

/// The directory of the history, which may not exist yet.
pub fn directory() -> Result<PathBuf, Failure> {
    let state = set(STATE_DIR_VARIABLE).or_else(of_platform).ok_or_else(|| {
        Failure::settings("could not find a directory for the history: there is no home directory")
            .advise(format!("set {STATE_DIR_VARIABLE} to a directory, or pass --no-history"))
    })?;
    Ok(state.join("history"))
}

fn of_platform() -> Option<PathBuf> {
    let home = || env::home_dir().filter(|home| home.is_absolute());
    let parent = if cfg!(windows) {
        set("LOCALAPPDATA")?
    } else if cfg!(target_os = "macos") {
        home()?.join("Library").join("Application Support")
    } else {
        // The specification of these directories says that relative paths are ignored.
        let given = set("XDG_STATE_HOME").filter(|path| Path::is_absolute(path));
        given.or_else(|| Some(home()?.join(".local").join("state")))?
    };
    Some(parent.join("kiln"))
}

fn set(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}
