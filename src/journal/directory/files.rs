//! The files of a directory: the names of logs, their locks, and the numbers of submissions.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::disk::{Disk, private};

/// The file that has the last number. Its lock is also held while the locks of the logs are tried.
const NUMBERS: &str = "numbers";

/// Gives the next numbers. The file has the one that was given last, as text of a fixed length, so
/// that a full disk can be written.
pub(super) struct Numbers {
    path: PathBuf,
    file: File,
    disk: Arc<dyn Disk>,
}

impl Numbers {
    pub(super) fn open(directory: &Path, disk: Arc<dyn Disk>) -> io::Result<Self> {
        let path = directory.join(NUMBERS);
        Ok(Self { file: disk.open(&path)?, path, disk })
    }

    /// Returns the first of `count` new numbers. They and all later ones are larger than `floor`.
    pub(super) fn give(&mut self, count: u64, floor: u64) -> io::Result<u64> {
        self.file.lock()?;
        let given = self.give_locked(count, floor);
        self.file.unlock()?;
        given
    }

    fn give_locked(&mut self, count: u64, floor: u64) -> io::Result<u64> {
        let mut text = String::new();
        self.file.seek(SeekFrom::Start(0))?;
        // A file that is damaged counts as new.
        let _ = self.file.read_to_string(&mut text);
        let last: u64 = text.trim().parse().unwrap_or_default();
        let first = last.max(floor).saturating_add(1);
        let text = format!("{:020}\n", (first - 1).saturating_add(count));
        self.disk.write(&self.file, &self.path, 0, text.as_bytes())?;
        Ok(first)
    }
}

/// Returns the numbers of the logs in a directory, which may not exist.
pub(super) fn indices(directory: &Path) -> io::Result<Vec<u32>> {
    let Some(files) = if_present(fs::read_dir(directory))? else { return Ok(Vec::new()) };
    let mut indices = Vec::new();
    for file in files {
        let name = file?.file_name();
        let index =
            name.to_str().and_then(|name| name.strip_prefix("log-")?.strip_suffix(".jsonl"));
        indices.extend(index.and_then(|index| index.parse::<u32>().ok()));
    }
    indices.sort_unstable();
    Ok(indices)
}

pub(super) fn log_path(directory: &Path, index: u32) -> PathBuf {
    directory.join(format!("log-{index}.jsonl"))
}

fn lock_path(directory: &Path, index: u32) -> PathBuf {
    directory.join(format!("log-{index}.lock"))
}

/// Waits until no other process tries the locks of the logs, and prevents that until the file is
/// dropped. A process that tries a lock has it for a moment, and two of them could each leave the
/// log to the other. No number can be given meanwhile.
pub(super) fn lock_all(directory: &Path) -> io::Result<File> {
    let file = lock_file(&directory.join(NUMBERS))?;
    file.lock().map_err(unlockable)?;
    Ok(file)
}

/// The same for a process that only reads. Creates nothing: `None` if the directory is new.
pub(super) fn lock_all_to_read(directory: &Path) -> io::Result<Option<File>> {
    let file = if_present(File::open(directory.join(NUMBERS)))?;
    file.map(|file| file.lock_shared().map_err(unlockable).map(|()| file)).transpose()
}

/// Returns the lock of a log, or `None` if a process has it.
pub(super) fn lock(directory: &Path, index: u32) -> io::Result<Option<File>> {
    let file = lock_file(&lock_path(directory, index))?;
    Ok(succeeded(file.try_lock())?.then_some(file))
}

/// Whether a process has the log. Creates nothing.
pub(super) fn is_locked(directory: &Path, index: u32) -> io::Result<bool> {
    let Some(file) = if_present(File::open(lock_path(directory, index)))? else { return Ok(false) };
    Ok(!succeeded(file.try_lock_shared())?)
}

fn lock_file(path: &Path) -> io::Result<File> {
    private().write(true).create(true).truncate(false).open(path)
}

/// Whether an attempt to lock a file succeeded. Fails if its file system has no locks.
fn succeeded(attempt: Result<(), TryLockError>) -> io::Result<bool> {
    match attempt {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(unlockable(error)),
    }
}

fn unlockable(error: io::Error) -> io::Error {
    let message = format!("the file system does not lock files: {error}");
    io::Error::new(io::ErrorKind::Unsupported, message)
}

/// Returns `None` if the file does not exist.
pub(super) fn if_present<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Creates a directory that other users cannot read, and those above it.
pub(super) fn create_private(directory: &Path) -> io::Result<()> {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has modes"))]
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(directory)
}

/// Whether the file at `path` is this open file.
pub(crate) fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let (there, here) = (fs::metadata(path)?, file.metadata()?);
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        Ok((here.dev(), here.ino()) == (there.dev(), there.ino()))
    }
    // Windows does not remove or replace a file that is open.
    #[cfg(not(unix))]
    {
        Ok(here.is_file() && there.is_file())
    }
}
