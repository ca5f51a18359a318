//! The directories in which this platform keeps the files of programs.

use std::{
    fs::DirBuilder,
    io,
    path::{Path, PathBuf},
};

use crate::process::Process;

/// Replaces the platform's directory for the history.
pub const STATE_DIR_VARIABLE: &str = "KILN_STATE_DIR";
/// Replaces the platform's directory for settings and keys.
pub const CONFIG_DIR_VARIABLE: &str = "KILN_CONFIG_DIR";

/// The directory for the state of the program. `None` if there is no home directory.
pub fn state(process: &Process) -> Option<PathBuf> {
    set(process, STATE_DIR_VARIABLE)
        .or_else(|| of_platform(process, "LOCALAPPDATA", "XDG_STATE_HOME", &[".local", "state"]))
}

/// The directory for settings and keys. `None` if there is no home directory.
pub fn config(process: &Process) -> Option<PathBuf> {
    set(process, CONFIG_DIR_VARIABLE)
        .or_else(|| of_platform(process, "APPDATA", "XDG_CONFIG_HOME", &[".config"]))
}

/// `windows` and `xdg` are variables with the parent directory. `below_home` is the default of
/// `xdg`.
fn of_platform(
    process: &Process,
    windows: &str,
    xdg: &str,
    below_home: &[&str],
) -> Option<PathBuf> {
    let parent = if cfg!(windows) {
        set(process, windows)?
    } else if cfg!(target_os = "macos") {
        home(process)?.join("Library").join("Application Support")
    } else {
        // The specification of these directories says that relative paths are ignored.
        let given = set(process, xdg).filter(|path| Path::is_absolute(path));
        given.or_else(|| Some(home(process)?.join(below_home.iter().collect::<PathBuf>())))?
    };
    Some(parent.join("kiln"))
}

/// The home directory of the user.
pub fn home(process: &Process) -> Option<PathBuf> {
    process.home.clone().filter(|home| home.is_absolute())
}

fn set(process: &Process, variable: &str) -> Option<PathBuf> {
    process.variable(variable).map(PathBuf::from)
}

/// Creates a directory, and its parents, that other users can't read.
pub fn create_private(directory: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}
