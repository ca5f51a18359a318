//! The directories in which programs keep their files on this platform, and whether a directory can
//! be written to.

use std::{
    fs::{self, DirBuilder},
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
};

use tempfile::{Builder, NamedTempFile};

use crate::{failure::Remedy, process::Process};

/// The variable that replaces the platform's directory for the history.
pub const STATE_DIR_VARIABLE: &str = "KILN_STATE_DIR";
/// The variable that replaces the platform's directory for settings and keys.
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

/// The directory of this program below the platform's directory. `windows` and `xdg` name the
/// variables that contain the latter; without `xdg`, it is `below_home` in the home directory.
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
        // The XDG specification says that relative paths are to be ignored.
        let given = set(process, xdg).filter(|path| Path::is_absolute(path));
        given.or_else(|| Some(home(process)?.join(below_home.iter().collect::<PathBuf>())))?
    };
    Some(parent.join("kiln"))
}

pub fn home(process: &Process) -> Option<PathBuf> {
    process.home.clone().filter(|home| home.is_absolute())
}

fn set(process: &Process, variable: &str) -> Option<PathBuf> {
    process.variable(variable).map(PathBuf::from)
}

/// Creates a directory that other users can't read, and its parents.
pub fn create_private(directory: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

/// Writes a file that only this user can read, and creates its directory if necessary. An existing
/// file is replaced as a whole. A symbolic link stays, and the file that it points to is replaced.
pub fn write_private(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let directory = path.parent().unwrap_or(Path::new("."));
    create_private(directory)?;
    // The temporary file has mode 0600 from its creation, so nobody else can read it in between.
    let mut file = NamedTempFile::new_in(directory)?;
    file.write_all(content.as_ref())?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Creates a temporary file for a picture. Other users may read it, as far as the user's file mode
/// creation mask allows.
pub fn temporary_file(directory: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.prefix(".kiln-").tempfile_in(directory)
}

/// The remedy after this error with a picture in the directory.
pub fn remedy(error: ErrorKind, directory: &Path) -> Remedy {
    match error {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            Remedy::Space
        }
        ErrorKind::NotFound if can_be_created(directory) => Remedy::Mkdir,
        _ => Remedy::Elsewhere,
    }
}

/// Tests whether a file can be created in the directory, by creating and deleting a temporary one.
/// Its name is at least as long as the names of the temporary files of pictures.
pub fn probe(directory: &Path) -> io::Result<()> {
    let mut name = Builder::new();
    let name = name.prefix(".kiln-probe-").rand_bytes(24).suffix(".part");
    name.tempfile_in(directory).map(drop)
}

/// Replaces an empty path by `.`, the working directory.
pub fn here_if_empty(directory: &Path) -> &Path {
    if directory.as_os_str().is_empty() { Path::new(".") } else { directory }
}

/// The directory of a file.
pub fn parent(path: &Path) -> &Path {
    here_if_empty(path.parent().unwrap_or(path))
}

/// Whether the missing directory could be created, because its nearest existing ancestor can be
/// written to. A dangling symbolic link is not a directory.
fn can_be_created(directory: &Path) -> bool {
    let mut parents = directory.ancestors().map(here_if_empty);
    let existing = parents.find(|parent| fs::symlink_metadata(parent).is_ok());
    existing.is_some_and(|existing| probe(existing).is_ok())
}

/// A directory in which this process can create files: the working directory, the home directory,
/// or the directory for temporary files.
pub fn writable(process: &Process) -> Option<String> {
    let temporary = process.temporary.clone();
    let directories = [Some(PathBuf::from(".")), home(process), Some(temporary)];
    let directories = directories.into_iter().flatten().filter(|path| probe(path).is_ok());
    directories.filter_map(|path| path.into_os_string().into_string().ok()).next()
}
