//! The file of a ledger: private, and locked by one process.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
};

use crate::{Error, ErrorKind};

/// A file that no other process can open as a ledger until this value is dropped.
pub(super) struct LockedFile {
    /// The resolved path, even if the given path is a link.
    pub(super) path: PathBuf,
    /// A separate file, because SQLite manages the locks of its own files.
    _lock: File,
}

impl LockedFile {
    /// Creates the file if it does not exist. SQLite gives the files next to it the same mode.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let failed = |error: io::Error| {
            let message = format!(
                "could not open the ledger {}; check the path and its permissions",
                path.display()
            );
            Error::new(ErrorKind::Ledger, message).with_source(error)
        };
        private().read(true).append(true).create(true).open(path).map_err(failed)?;
        let path = fs::canonicalize(path).map_err(failed)?;
        let mut lock_path = path.clone().into_os_string();
        lock_path.push(".lock");
        let lock = private().write(true).create(true).truncate(false).open(lock_path);
        let lock = lock.map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path, _lock: lock }),
            Err(TryLockError::WouldBlock) => {
                let message = format!(
                    "the ledger {} is already open; wait for the other process or give each \
                     process its own ledger",
                    path.display()
                );
                Err(Error::new(ErrorKind::Locked, message))
            }
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}

/// Options for files that other users cannot read, because polling URLs may be signed.
fn private() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has modes"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
