//! The file operations of a journal, which tests can replace.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Seek as _, SeekFrom, Write as _},
    path::Path,
};

/// The operations with which a [`Directory`](super::Directory) reads and changes its files. The
/// default implementations call the operating system.
///
/// [`Directory::open_on`](super::Directory::open_on) takes another implementation, for example one
/// that fails in tests:
///
/// ```
/// use std::{fs::File, io, path::Path, sync::Arc};
/// use imagekiln::journal::{Directory, Disk};
///
/// struct FullDisk;
///
/// impl Disk for FullDisk {
///     fn create(&self, _: &Path) -> io::Result<File> {
///         Err(io::ErrorKind::StorageFull.into())
///     }
/// }
///
/// # fn main() -> Result<(), imagekiln::Error> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let folder = folder.path();
/// // A client with this journal sends nothing, because it cannot record it.
/// let journal = Directory::open_on(folder, Arc::new(FullDisk))?;
/// # Ok(())
/// # }
/// ```
///
/// Locks are not part of this trait: the directory locks its files itself.
#[doc(hidden)]
pub trait Disk: Send + Sync {
    /// Returns the content of a file. Fails if the path is not a regular file, but for example a
    /// pipe.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        must_be_a_file(path)?;
        fs::read(path)
    }

    /// Opens a file for reading and writing. Fails if the path is not a regular file, but for
    /// example a pipe.
    fn open(&self, path: &Path) -> io::Result<File> {
        must_be_a_file(path)?;
        OpenOptions::new().read(true).write(true).open(path)
    }

    /// Creates a file that other users cannot read. Fails if the path already exists.
    fn create(&self, path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path)
    }

    /// Writes bytes at a position of a file.
    fn write(&self, mut file: &File, path: &Path, at: u64, bytes: &[u8]) -> io::Result<()> {
        let _ = path;
        file.seek(SeekFrom::Start(at))?;
        file.write_all(bytes)
    }

    /// Flushes the content of a file to disk.
    fn sync(&self, file: &File, path: &Path) -> io::Result<()> {
        let _ = path;
        file.sync_data()
    }

    /// Gives a file a second name. Fails if that name already exists.
    fn link(&self, file: &Path, name: &Path) -> io::Result<()> {
        let linked = fs::hard_link(file, name);
        let has_links = |error: &io::Error| {
            !matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied)
        };
        match linked {
            Err(error) if !has_links(&error) => {
                // The file system has no hard links. Only one process can create an empty file with
                // the name, so this reserves the name, and the rename then replaces the empty file.
                drop(self.create(name)?);
                fs::rename(file, name).inspect_err(|_| drop(fs::remove_file(name)))
            }
            linked => linked,
        }
    }

    /// Renames a file, and replaces the file at `to`.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    /// Removes a name of a file.
    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    /// Flushes a directory to disk, so that the names of its files survive a crash.
    fn sync_names(&self, directory: &Path) -> io::Result<()> {
        if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
    }
}

/// The file operations of the operating system.
pub(super) struct System;

impl Disk for System {}

/// Fails if the path is not a regular file. Opening a pipe would wait for its other end.
fn must_be_a_file(path: &Path) -> io::Result<()> {
    if fs::metadata(path)?.is_file() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a file"))
}

/// Converts the error for a missing file to `None`.
pub(super) fn if_present<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Creates a directory and its parents, and flushes their names to disk, so that a crash does not
/// lose the directory with the records in it.
pub(super) fn create_durable(disk: &dyn Disk, folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) else {
        return create_private(folder);
    };
    create_durable(disk, parent)?;
    create_private(folder)?;
    disk.sync_names(parent)
}

/// Creates a directory that other users cannot read.
fn create_private(directory: &Path) -> io::Result<()> {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has modes"))]
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(directory)
}
