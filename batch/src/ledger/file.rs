//! The file of a ledger: private, and locked by one process.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    process,
};

use crate::{Error, ErrorKind};

/// A file that no other process can open as a ledger until this value is dropped.
pub(super) struct LockedFile {
    /// The resolved path, even if the given path is a link.
    pub(super) path: PathBuf,
    /// A separate file, because SQLite manages the locks of its own files. It contains the number
    /// of the process that has locked it.
    lock: File,
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
        let lock = private().read(true).write(true).create(true).truncate(false).open(lock_path);
        let lock = lock.map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {
                // Without the number, the message of another process says less.
                let _ = lock.set_len(0).and_then(|()| write!(&lock, "{}", process::id()));
                Ok(Self { path, lock })
            }
            Err(TryLockError::WouldBlock) => {
                let mut owner = String::new();
                let _ = (&lock).read_to_string(&mut owner);
                let is_own = owner.parse() == Ok(process::id());
                let (who, advice) = if is_own {
                    ("this process".to_owned(), "use a clone of the ledger, or close it")
                } else {
                    let advice = "wait for the other process or give each process its own ledger";
                    (format!("process {owner}"), advice)
                };
                let path = path.display();
                let message = format!("the ledger {path} is already open in {who}; {advice}");
                Err(Error::new(ErrorKind::Locked, message))
            }
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// Lets another process open the file.
    pub(super) fn unlock(&self) {
        // The system does it when the file is closed, at the latest.
        let _ = self.lock.unlock();
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
