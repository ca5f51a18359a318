//! Creates temporary files, and deletes the temporary files of killed processes.
//!
//! A process locks its temporary file while it writes. If the lock of a file is free, its owner has
//! exited, and the file is deleted. On filesystems without locks, no file is deleted.

use std::{
    collections::VecDeque,
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
};

use crate::values::{Mutex, file::is_at};

const PREFIX: &str = ".imagekiln-";
const SUFFIX: &str = ".part";

/// The maximum number of attempts to create a file, in case a sweep deletes it before it is locked.
const MAX_CREATIONS: u32 = 16;

/// The maximum number of remembered directories.
const MAX_SWEPT: usize = 64;

/// A temporary file. Dropping this value deletes the file, unless it was renamed.
#[derive(Debug)]
pub(super) struct TemporaryFile {
    pub(super) file: File,
    /// Empty after the file was renamed.
    path: PathBuf,
}

/// A file that was not renamed, and the reason.
pub(super) type Unnamed = (TemporaryFile, io::Error);

impl TemporaryFile {
    /// Creates and locks a temporary file. Only the user of this process can access a `private`
    /// file.
    pub(super) fn create(directory: &Path, private: bool) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, if private { 0o600 } else { 0o666 });
        #[cfg(not(unix))]
        let _ = private;
        for _ in 0..MAX_CREATIONS {
            let path = directory.join(format!("{PREFIX}{:016x}{SUFFIX}", fastrand::u64(..)));
            let file = match options.open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                opened => opened?,
            };
            let part = Self { file, path };
            match part.file.try_lock() {
                // A sweep may have deleted the file before it was locked.
                Ok(()) if is_at(&part.file, &part.path) => return Ok(part),
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                // On filesystems without locks, no sweep deletes the file.
                Err(TryLockError::Error(_)) => return Ok(part),
            }
        }
        Err(io::Error::other("temporary files are deleted as soon as they are created"))
    }

    /// Renames the file, and replaces an existing one.
    pub(super) fn persist(mut self, path: &Path) -> Result<(), Unnamed> {
        match fs::rename(&self.path, path) {
            Ok(()) => {
                self.path.clear();
                Ok(())
            }
            Err(error) => Err((self, error)),
        }
    }

    /// Renames the file, but never replaces an existing file. Some filesystems, such as mounted
    /// buckets, have no hard links. On these, an empty file first reserves the name.
    pub(super) fn persist_new(self, path: &Path) -> Result<(), Unnamed> {
        match fs::hard_link(&self.path, path) {
            // Dropping the file then removes its temporary name.
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err((self, error)),
            Err(_) => self.persist_reserved(path),
        }
    }

    fn persist_reserved(self, path: &Path) -> Result<(), Unnamed> {
        match File::create_new(path) {
            Ok(_reserved) => self.persist(path).inspect_err(|_| {
                // Otherwise the empty file would block the name, as if it belonged to another
                // program.
                let _ = fs::remove_file(path);
            }),
            Err(error) => Err((self, error)),
        }
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The directories that a client has swept, the most recent last.
#[derive(Debug, Default)]
pub(crate) struct Swept(Mutex<VecDeque<PathBuf>>);

impl Swept {
    /// Deletes the temporary files of dead processes in a directory, on the first call for it.
    /// Later calls do nothing, because listing a large directory is slow.
    pub(super) fn sweep_once(&self, directory: &Path) {
        // If the path of a directory cannot be resolved, the directory cannot be listed either.
        let Ok(directory) = directory.canonicalize() else { return };
        {
            let mut swept = self.0.lock();
            if swept.contains(&directory) {
                return;
            }
            if swept.len() == MAX_SWEPT {
                swept.pop_front();
            }
            swept.push_back(directory.clone());
        }
        sweep(&directory);
    }
}

/// Deletes orphaned temporary files. Ignores errors, because saving does not depend on it.
fn sweep(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let is_part = name.starts_with(PREFIX.as_bytes()) && name.ends_with(SUFFIX.as_bytes());
        if is_part
            && entry.file_type().is_ok_and(|kind| kind.is_file())
            && remove_if_unlocked(&entry.path())
        {
            tracing::debug!("deleted a temporary file of a killed process");
        }
    }
}

/// Deletes the file if it has no living owner. Returns whether it was deleted.
fn remove_if_unlocked(path: &Path) -> bool {
    // Some filesystems can only lock files that are open for writing.
    let Ok(file) = File::options().read(true).write(true).open(path) else { return false };
    // The owner may have renamed the file since it was opened. The path then does not exist, or
    // belongs to another file.
    file.try_lock().is_ok() && is_at(&file, path) && fs::remove_file(path).is_ok()
}

#[cfg(test)]
mod tests {
    use std::{
        io::Write as _,
        sync::atomic::{AtomicBool, Ordering},
        thread,
    };

    use super::*;

    #[test]
    fn a_sweep_does_not_delete_a_file_in_use() {
        let directory = tempfile::tempdir().unwrap();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    sweep(directory.path());
                }
            });
            let creators: Vec<_> = (0..3)
                .map(|_| {
                    scope.spawn(|| {
                        for _ in 0..200 {
                            let file = TemporaryFile::create(directory.path(), true).unwrap();
                            thread::yield_now();
                            assert!(is_at(&file.file, &file.path), "it was swept");
                        }
                    })
                })
                .collect();
            let outcomes: Vec<_> = creators.into_iter().map(|creator| creator.join()).collect();
            done.store(true, Ordering::Relaxed);
            assert!(outcomes.iter().all(Result::is_ok));
        });
    }

    #[test]
    fn a_reserved_name_is_not_that_of_another_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fox.png");
        let part = |content: &str| {
            let mut part = TemporaryFile::create(directory.path(), false).unwrap();
            part.file.write_all(content.as_bytes()).unwrap();
            part
        };
        part("a fox").persist_reserved(&path).unwrap();
        for persist in [TemporaryFile::persist_reserved, TemporaryFile::persist_new] {
            let (_, error) = persist(part("another fox"), &path).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        }
        assert_eq!(fs::read(&path).unwrap(), b"a fox");
        part("a fox").persist_new(&directory.path().join("fox-2.png")).unwrap();
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 2);
    }

    // Other systems do not identify files.
    #[cfg(unix)]
    #[test]
    fn a_renamed_file_is_not_swept() {
        let directory = tempfile::tempdir().unwrap();
        let file = TemporaryFile::create(directory.path(), true).unwrap();
        let part = file.path.clone();
        // Like a sweep that opened the file just before its owner renamed it.
        let opened = File::open(&part).unwrap();
        file.persist(&directory.path().join("fox.png")).unwrap();
        fs::write(&part, "of another process").unwrap();

        opened.try_lock().unwrap();
        assert!(!is_at(&opened, &part));
        assert!(is_at(&opened, &directory.path().join("fox.png")));
    }

    #[test]
    fn the_number_of_remembered_directories_is_bounded() {
        let root = tempfile::tempdir().unwrap();
        let directories: Vec<_> =
            (0..=MAX_SWEPT).map(|index| root.path().join(index.to_string())).collect();
        let swept = Swept::default();
        for directory in &directories {
            fs::create_dir(directory).unwrap();
            swept.sweep_once(directory);
        }
        assert_eq!(swept.0.lock().len(), MAX_SWEPT);

        let is_swept_again = |directory: &Path| {
            let orphan = directory.join(".imagekiln-dead.part");
            fs::write(&orphan, "").unwrap();
            swept.sweep_once(&directory.join("."));
            !orphan.exists()
        };
        assert!(!is_swept_again(&directories[1]));
        assert!(is_swept_again(&directories[0]));
    }
}
