//! A journal's file: locked, appended to, flushed, and written again when most of it is closed.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use super::records::{Entries, Record, read};

/// A journal of fewer lines is not worth writing again.
const FEWEST_LINES: usize = 1_000;

pub(super) struct Disk {
    /// The file itself, also if the given path is a link.
    path: PathBuf,
    file: File,
    length: u64,
    lines: usize,
    pub(super) entries: Entries,
    /// Set if a line may be half written. Whatever was appended then would be unreadable.
    is_broken: bool,
    /// Locked as long as this lives. It is a file of its own, because the journal is replaced when
    /// it is written again.
    _lock: File,
}

impl Disk {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        // Made if it is missing, because only a file has a path without links.
        open_file(path)?;
        let path = fs::canonicalize(path)?;
        let lock =
            private().write(true).create(true).truncate(false).open(beside(&path, ".lock"))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                io::Error::new(io::ErrorKind::WouldBlock, "another process has it open")
            }
            TryLockError::Error(error) => error,
        })?;
        // Opened again: the process that had the lock may have replaced the file.
        let mut file = open_file(&path)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let found = read(&text).map_err(|line| {
            let problem = format!("line {line} is not one of a journal");
            io::Error::new(io::ErrorKind::InvalidData, problem)
        })?;
        if found.whole < text.len() {
            tracing::warn!(
                bytes = text.len() - found.whole,
                "the last line of the journal was torn and is dropped"
            );
        }
        file.set_len(found.whole as u64)?;
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
        disk.write_again_if_worthwhile()?;
        Ok(disk)
    }

    /// Writes a line. It is durable when this returns.
    pub(super) fn append(&mut self, record: Record) -> io::Result<()> {
        if self.is_broken {
            return Err(io::Error::other("a line could not be written before, nor removed"));
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
        if let Err(error) = self.write_again_if_worthwhile() {
            // The lines are there all the same.
            tracing::warn!(%error, "a journal could not be written again");
        }
        Ok(())
    }

    fn write_again_if_worthwhile(&mut self) -> io::Result<()> {
        if self.lines < FEWEST_LINES || self.lines < 8 * self.entries.len() {
            return Ok(());
        }
        let mut text = Vec::new();
        let mut lines = 0;
        for record in self.entries.records() {
            text.extend(record.line()?);
            lines += 1;
        }
        let new = beside(&self.path, ".new");
        // What a process left behind that was killed here.
        let _ = fs::remove_file(&new);
        let mut file = private().read(true).append(true).create_new(true).open(&new)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&new, &self.path)?;
        (self.file, self.length, self.lines) = (file, text.len() as u64, lines);
        flush_directory(&self.path)
    }
}

fn open_file(path: &Path) -> io::Result<File> {
    private().read(true).append(true).create(true).open(path)
}

/// Options for files that nobody else may read: polling URLs may be signed.
fn private() -> OpenOptions {
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

/// Makes a new name in the directory durable.
fn flush_directory(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(directory) if cfg!(unix) => File::open(directory)?.sync_all(),
        _ => Ok(()),
    }
}
