//! The file of a log: written in place over zeros, so that a disk that fills up loses nothing. It
//! has one line for each change, which is the whole record after the change.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use super::files::{Disk, if_present, is_at};
use crate::journal::Record;

/// How much space is written ahead at once, in bytes.
const AHEAD: u64 = 256 * 1024;

pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    disk: Arc<dyn Disk>,
    /// The end of the last line. Behind it are zeros.
    end: u64,
    /// The end of the zeros, which is the length of the file.
    written_ahead: u64,
    /// Set if the file may have a part of a line before its end.
    is_broken: bool,
    /// Set if the file may lose its name if the machine stops.
    is_renamed: bool,
}

impl LogFile {
    /// Opens a file, and returns what it contains.
    pub(super) fn open(path: PathBuf, disk: Arc<dyn Disk>) -> io::Result<(Self, Vec<u8>)> {
        let mut file = disk.open(&path)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let (end, written_ahead) = (text.len() as u64, text.len() as u64);
        let (is_broken, is_renamed) = (false, false);
        Ok((Self { path, file, disk, end, written_ahead, is_broken, is_renamed }, text))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes what follows the last complete line.
    pub(super) fn cut(&mut self, end: u64) -> io::Result<()> {
        self.disk.set_len(&self.file, &self.path, end)?;
        self.sync()?;
        (self.end, self.written_ahead) = (end, end);
        Ok(())
    }

    /// Fails if the log was removed or replaced: what is written to it would be lost.
    pub(super) fn must_be_there(&self) -> io::Result<()> {
        if self.is_broken {
            return Err(io::Error::other("an earlier write failed and could not be undone"));
        }
        match if_present(is_at(&self.file, &self.path))? {
            Some(true) => Ok(()),
            Some(false) => Err(io::Error::other("the journal was replaced while it was open")),
            None => {
                let message = "the journal was removed while it was open";
                Err(io::Error::new(io::ErrorKind::NotFound, message))
            }
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
        let written = self.write(self.written_ahead, &zeros).and_then(|()| self.sync());
        match written {
            Ok(()) => self.written_ahead = until,
            Err(_) => self.disk.set_len(&self.file, &self.path, self.written_ahead)?,
        }
        written
    }

    /// Writes lines behind the last one. They are durable when this method returns.
    pub(super) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.is_renamed {
            self.sync_name()?;
        }
        let written = self.write(self.end, lines).and_then(|()| self.sync());
        if let Err(error) = written {
            let zeros = vec![0; lines.len()];
            let undone = self.write(self.end, &zeros).and_then(|()| self.sync());
            self.is_broken = undone.is_err();
            return Err(error);
        }
        self.end += lines.len() as u64;
        self.written_ahead = self.written_ahead.max(self.end);
        Ok(())
    }

    /// Replaces the content by `text`, and keeps the space behind it.
    pub(super) fn replace(&mut self, text: &[u8]) -> io::Result<()> {
        let new = self.path.with_extension("new");
        let file = self.disk.open(&new)?;
        let room = vec![0; usize::try_from(self.written_ahead - self.end).unwrap_or_default()];
        // Another process may have been killed at this point.
        self.disk.set_len(&file, &new, 0)?;
        self.disk.write(&file, &new, 0, &[text, &room].concat())?;
        self.disk.sync(&file, &new)?;
        // Windows may refuse to replace a file that is open.
        self.file = file;
        if let Err(error) = self.disk.rename(&new, &self.path) {
            match self.disk.open(&self.path) {
                Ok(file) => self.file = file,
                Err(_) => self.is_broken = true,
            }
            return Err(error);
        }
        self.end = text.len() as u64;
        self.written_ahead = (text.len() + room.len()) as u64;
        self.is_renamed = true;
        self.sync_name()
    }

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.disk.write(&self.file, &self.path, at, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.sync(&self.file, &self.path)
    }

    /// Makes the name of a new file durable, and with it all lines that follow.
    fn sync_name(&mut self) -> io::Result<()> {
        self.disk.sync_names(self.path.parent().unwrap_or(&self.path))?;
        self.is_renamed = false;
        Ok(())
    }
}

/// A line of a log.
#[derive(Serialize, Deserialize)]
struct Line<'a> {
    number: u64,
    record: Cow<'a, Record>,
}

/// What a log contains.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// By the numbers of the submissions.
    pub(super) records: BTreeMap<u64, Record>,
    /// Lines of a later version, or of another program. They are kept as they are.
    pub(super) unreadable: Vec<Vec<u8>>,
    pub(super) lines: usize,
    /// The length of all complete lines in bytes.
    pub(super) length: usize,
}

impl Content {
    /// Reads a log. It ends with the first byte that is zero, or with an incomplete line: that one
    /// was being written when a process or the machine stopped, and nobody was told that it was
    /// written.
    pub(super) fn read(text: &[u8]) -> Self {
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        let mut content = Self::default();
        for line in text.get(..end).unwrap_or_default().split_inclusive(|byte| *byte == b'\n') {
            if !line.ends_with(b"\n") {
                break;
            }
            match serde_json::from_slice(line) {
                // A later line of the same log is later.
                Ok(Line { number, record }) => {
                    content.records.insert(number, record.into_owned());
                }
                Err(_) => content.unreadable.push(line.to_owned()),
            }
            content.lines += 1;
            content.length += line.len();
        }
        content
    }

    /// Returns the highest number of a submission, or 0.
    pub(super) fn highest(&self) -> u64 {
        self.records.last_key_value().map_or(0, |(number, _)| *number)
    }

    /// Adds a record of another log, unless a later state of the same submission is known.
    pub(super) fn add(&mut self, mut number: u64, record: Record) {
        // The machine stopped before the number that was given last was durable.
        let is_other = |known: &Record| known.intent().id() != record.intent().id();
        while self.records.get(&number).is_some_and(is_other) {
            number = number.wrapping_add(1);
        }
        let age = |record: &Record| (record.task().is_some(), record.state().rank());
        if self.records.get(&number).is_none_or(|known| age(known) <= age(&record)) {
            self.records.insert(number, record);
        }
    }
}

/// Returns the line of a record.
pub(super) fn line(number: u64, record: &Record) -> serde_json::Result<Vec<u8>> {
    let record = Cow::Borrowed(record);
    let mut line = serde_json::to_vec(&Line { number, record })?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        path::Path,
        sync::{
            Arc,
            atomic::{AtomicU32, Ordering},
        },
    };

    use super::{Disk, LogFile};

    /// Fails to make names durable the first time.
    #[derive(Default)]
    struct Failing {
        attempts: AtomicU32,
    }

    impl Disk for Failing {
        fn sync_names(&self, _: &Path) -> io::Result<()> {
            match self.attempts.fetch_add(1, Ordering::Relaxed) {
                0 => Err(io::ErrorKind::Other.into()),
                _ => Ok(()),
            }
        }
    }

    /// A crash could bring back the file from before the compaction.
    #[test]
    fn a_line_is_not_durable_before_the_name_of_its_file() {
        let directory = tempfile::tempdir().unwrap();
        let disk = Arc::new(Failing::default());
        let path = directory.path().join("log-1.jsonl");
        let (mut file, _) = LogFile::open(path, Arc::clone(&disk) as _).unwrap();
        file.append(b"one\n").unwrap();
        file.replace(b"one\n").unwrap_err();
        file.append(b"two\n").unwrap();
        assert_eq!(disk.attempts.load(Ordering::Relaxed), 2);
    }
}
