//! How a directory changes its files.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Seek as _, SeekFrom, Write as _},
    path::Path,
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
        private().read(true).write(true).create(true).truncate(false).open(path)
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

/// Options for files that other users cannot read.
pub(super) fn private() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has modes"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
