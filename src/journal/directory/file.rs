//! The file of a log: written in place over zeros, so that a disk that fills up loses nothing.

use std::{
    fs::{self, File},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use super::files::{flush_directory, is_same_file, open_file};

/// How much space is written ahead at once, in bytes.
const AHEAD: u64 = 64 * 1024;

pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    /// The end of the last line. Behind it are zeros.
    end: u64,
    /// The end of the zeros, which is the length of the file.
    written_ahead: u64,
    /// Set if the file may have a part of a line before its end.
    is_broken: bool,
}

impl LogFile {
    /// Opens a file, and returns what it contains.
    pub(super) fn open(path: PathBuf) -> io::Result<(Self, Vec<u8>)> {
        let mut file = open_file(&path)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let length = text.len() as u64;
        Ok((Self { path, file, end: length, written_ahead: length, is_broken: false }, text))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes what follows the last complete line.
    pub(super) fn cut(&mut self, end: u64) -> io::Result<()> {
        self.file.set_len(end)?;
        self.file.sync_all()?;
        (self.end, self.written_ahead) = (end, end);
        Ok(())
    }

    /// Fails if the log was removed or replaced: what is written to it would be lost.
    pub(super) fn must_be_there(&self) -> io::Result<()> {
        if self.is_broken {
            return Err(io::Error::other("an earlier write failed and could not be undone"));
        }
        let is_same = fs::metadata(&self.path).and_then(|there| {
            let here = self.file.metadata()?;
            Ok(is_same_file(&there, &here))
        });
        match is_same {
            Ok(true) => Ok(()),
            Ok(false) => Err(io::Error::other("the journal was replaced while it was open")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(io::Error::new(error.kind(), "the journal was removed while it was open"))
            }
            Err(error) => Err(error),
        }
    }

    /// Makes sure that there are zeros for so many bytes.
    pub(super) fn write_ahead(&mut self, length: u64) -> io::Result<()> {
        let wanted = self.end + length;
        if wanted <= self.written_ahead {
            return Ok(());
        }
        self.write_zeros(wanted.next_multiple_of(AHEAD)).or_else(|_| self.write_zeros(wanted))
    }

    fn write_zeros(&mut self, until: u64) -> io::Result<()> {
        let zeros = vec![0; usize::try_from(until - self.written_ahead).map_err(io::Error::other)?];
        self.file.seek(SeekFrom::Start(self.written_ahead))?;
        let written = self.file.write_all(&zeros).and_then(|()| self.file.sync_data());
        match written {
            Ok(()) => self.written_ahead = until,
            Err(_) => self.file.set_len(self.written_ahead)?,
        }
        written
    }

    /// Writes lines behind the last one. They are durable when this method returns.
    pub(super) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.end))?;
        let written = self.file.write_all(lines).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            let zeros = vec![0; lines.len()];
            let undone = self.file.seek(SeekFrom::Start(self.end));
            let undone = undone.and_then(|_| self.file.write_all(&zeros));
            self.is_broken = undone.and_then(|()| self.file.sync_data()).is_err();
            return Err(error);
        }
        self.end += lines.len() as u64;
        self.written_ahead = self.written_ahead.max(self.end);
        Ok(())
    }

    /// Replaces the content by `text`, and keeps the space behind it.
    pub(super) fn replace(&mut self, text: &[u8]) -> io::Result<()> {
        let new = self.path.with_extension("new");
        // Left behind if a process was killed at this point.
        let _ = fs::remove_file(&new);
        let mut file = open_file(&new)?;
        let room = vec![0; usize::try_from(self.written_ahead - self.end).unwrap_or_default()];
        file.write_all(text)?;
        file.write_all(&room)?;
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
        self.end = text.len() as u64;
        self.written_ahead = (text.len() + room.len()) as u64;
        flush_directory(self.path.parent().unwrap_or(&self.path))
    }
}
