//! The file of a journal: locked, appended to, flushed, and compacted when most entries are closed.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use super::records::{Entries, Record, read};

/// The minimum number of lines for compaction.
const MIN_LINES: usize = 1_000;

pub(super) struct Disk {
    /// The resolved path, even if the given path is a link.
    path: PathBuf,
    file: File,
    length: u64,
    lines: usize,
    pub(super) entries: Entries,
    /// Set if a line may be incomplete. Anything appended after it would be unreadable.
    is_broken: bool,
    /// Locked until dropped. A separate file, because compaction replaces the journal.
    _lock: File,
}

impl Disk {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        // Create the file first, because a missing path cannot be resolved.
        open_file(path)?;
        let path = fs::canonicalize(path)?;
        let lock =
            private().write(true).create(true).truncate(false).open(beside(&path, ".lock"))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                io::Error::new(io::ErrorKind::WouldBlock, "another process has opened the journal")
            }
            TryLockError::Error(error) => error,
        })?;
        // Open the file again: the previous owner of the lock may have replaced it.
        let mut file = open_file(&path)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let found = read(&text).map_err(|line| {
            let problem = format!("line {line} is not a journal record");
            io::Error::new(io::ErrorKind::InvalidData, problem)
        })?;
        if found.complete < text.len() {
            tracing::warn!(
                bytes = text.len() - found.complete,
                "dropped an incomplete last line of the journal"
            );
        }
        file.set_len(found.complete as u64)?;
        if found.lacks_newline {
            file.write_all(b"\n")?;
        }
        file.sync_all()?;
        flush_directory(&path)?;
        let (lines, length) = (found.lines, file.metadata()?.len());
        let mut disk = Self {
            path,
            file,
            length,
            lines,
            entries: found.entries,
            is_broken: false,
            _lock: lock,
        };
        disk.compact_if_worthwhile()?;
        Ok(disk)
    }

    /// Appends a record. It is durable when this method returns.
    pub(super) fn append(&mut self, record: Record) -> io::Result<()> {
        if self.is_broken {
            return Err(io::Error::other("an earlier write failed and could not be undone"));
        }
        let line = record.line()?;
        let written = self.file.write_all(&line).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            self.is_broken =
                self.file.set_len(self.length).and_then(|()| self.file.sync_data()).is_err();
            return Err(error);
        }
        self.length += line.len() as u64;
        self.lines += 1;
        self.entries.apply(record);
        if let Err(error) = self.compact_if_worthwhile() {
            // The record itself is durable.
            tracing::warn!(%error, "could not compact the journal");
        }
        Ok(())
    }

    fn compact_if_worthwhile(&mut self) -> io::Result<()> {
        if self.lines < MIN_LINES || self.lines < 8 * self.entries.len() {
            return Ok(());
        }
        let mut text = Vec::new();
        let mut lines = 0;
        for record in self.entries.records() {
            text.extend(record.line()?);
            lines += 1;
        }
        let new = beside(&self.path, ".new");
        // Left behind if a process was killed at this point.
        let _ = fs::remove_file(&new);
        let mut file = private().read(true).append(true).create_new(true).open(&new)?;
        file.write_all(&text)?;
        file.sync_all()?;
        // Windows may refuse to replace a file that is open.
        self.file = file;
        if let Err(error) = fs::rename(&new, &self.path) {
            match open_file(&self.path) {
                Ok(file) => self.file = file,
                Err(_) => self.is_broken = true,
            }
            return Err(error);
        }
        (self.length, self.lines) = (text.len() as u64, lines);
        flush_directory(&self.path)
    }
}

fn open_file(path: &Path) -> io::Result<File> {
    private().read(true).append(true).create(true).open(path)
}

/// Options for files that other users cannot read, because polling URLs may be signed.
fn private() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has modes"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Makes a new name in a directory durable.
fn flush_directory(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(directory) if cfg!(unix) => File::open(directory)?.sync_all(),
        _ => Ok(()),
    }
}
