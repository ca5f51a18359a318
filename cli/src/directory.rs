//! The directories in which this platform keeps the files of programs.

use std::{
    env,
    fs::DirBuilder,
    io,
    path::{Path, PathBuf},
};

/// Replaces the platform's directory for the history.
pub const STATE_DIR_VARIABLE: &str = "KILN_STATE_DIR";
/// Replaces the platform's directory for settings and keys.
pub const CONFIG_DIR_VARIABLE: &str = "KILN_CONFIG_DIR";

/// The directory for what the program remembers. `None` if there is no home directory.
pub fn state() -> Option<PathBuf> {
    set(STATE_DIR_VARIABLE)
        .or_else(|| of_platform("LOCALAPPDATA", "XDG_STATE_HOME", &[".local", "state"]))
}

/// The directory for settings and keys. `None` if there is no home directory.
pub fn config() -> Option<PathBuf> {
    set(CONFIG_DIR_VARIABLE).or_else(|| of_platform("APPDATA", "XDG_CONFIG_HOME", &[".config"]))
}

/// `windows` and `xdg` are variables with the parent directory. `below_home` is the default of
/// `xdg`.
fn of_platform(windows: &str, xdg: &str, below_home: &[&str]) -> Option<PathBuf> {
    let parent = if cfg!(windows) {
        set(windows)?
    } else if cfg!(target_os = "macos") {
        home()?.join("Library").join("Application Support")
    } else {
        // The specification of these directories says that relative paths are ignored.
        let given = set(xdg).filter(|path| Path::is_absolute(path));
        given.or_else(|| Some(home()?.join(below_home.iter().collect::<PathBuf>())))?
    };
    Some(parent.join("kiln"))
}

/// The home directory of the user.
pub fn home() -> Option<PathBuf> {
    env::home_dir().filter(|home| home.is_absolute())
}

fn set(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Creates a directory, and its parents, that other users can't read.
pub fn create_private(directory: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}
