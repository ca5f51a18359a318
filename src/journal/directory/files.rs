//! The files of a directory: how they are changed, the names of logs, their locks, and the numbers
//! of submissions.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

/// The operations that a [`Directory`](super::Directory) uses to change its files. The defaults
/// call the operating system.
///
/// [`Directory::open_on`](super::Directory::open_on) takes an implementation, for example one that
/// fails in tests:
///
/// ```
/// use std::{fs::File, io, path::Path, sync::Arc};
/// use imagekiln::journal::{Directory, Disk};
///
/// struct FullDisk;
///
/// impl Disk for FullDisk {
///     fn write(&self, _: &File, _: &Path, _: u64, _: &[u8]) -> io::Result<()> {
///         Err(io::ErrorKind::StorageFull.into())
///     }
/// }
///
/// # fn main() -> Result<(), imagekiln::Error> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let folder = folder.path();
/// // A client with this journal sends nothing, because it cannot record it.
/// let journal = Directory::open_on(folder, 0, Arc::new(FullDisk))?;
/// # Ok(())
/// # }
/// ```
///
/// The directory reads and locks its files itself.
pub trait Disk: Send + Sync {
    /// Opens a file for reading and writing, and creates it if it does not exist.
    fn open(&self, path: &Path) -> io::Result<File> {
        open_private(path)
    }

    /// Writes bytes at a position of a file.
    fn write(&self, mut file: &File, path: &Path, at: u64, bytes: &[u8]) -> io::Result<()> {
        let _ = path;
        file.seek(SeekFrom::Start(at))?;
        file.write_all(bytes)
    }

    /// Sets the length of a file.
    fn set_len(&self, file: &File, path: &Path, length: u64) -> io::Result<()> {
        let _ = path;
        file.set_len(length)
    }

    /// Flushes the content of a file.
    fn sync(&self, file: &File, path: &Path) -> io::Result<()> {
        let _ = path;
        file.sync_data()
    }

    /// Renames a file, and replaces the file at `to`.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    /// Flushes the names of the files in a directory.
    fn sync_names(&self, directory: &Path) -> io::Result<()> {
        if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
    }
}

/// The disks of this machine.
pub(super) struct System;

impl Disk for System {}

/// Opens a file that other users cannot read, and creates it if it does not exist.
fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

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
    let file = open_private(&directory.join(NUMBERS))?;
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
    let file = open_private(&lock_path(directory, index))?;
    Ok(succeeded(file.try_lock())?.then_some(file))
}

/// Whether a process has the log. Creates nothing.
pub(super) fn is_locked(directory: &Path, index: u32) -> io::Result<bool> {
    let Some(file) = if_present(File::open(lock_path(directory, index)))? else { return Ok(false) };
    Ok(!succeeded(file.try_lock_shared())?)
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
