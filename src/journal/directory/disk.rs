//! How a directory changes its files. Histories replace it, to inject faults and deaths.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Seek as _, SeekFrom, Write as _},
    path::Path,
};

/// The changes of files that have an effect on what is durable. By default, the operating system
/// makes them.
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

    /// Makes the content of a file durable.
    fn sync(&self, file: &File, path: &Path) -> io::Result<()> {
        let _ = path;
        file.sync_data()
    }

    /// Gives a file the name of another one, which it replaces.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    /// Makes the names in a directory durable.
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
