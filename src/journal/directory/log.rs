//! The log of a process, and the records in all logs.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    disk::Disk,
    file::LogFile,
    files::{Numbers, create_private, indices, is_locked, lock, log_path},
    lines::{Content, line},
};
use crate::journal::{Intent, Record, State, Step};

/// The space in bytes for the acceptance of a submission, beside what its intent takes: a task with
/// a long polling URL. A longer one may fail if the disk is full.
const ROOM: u64 = 4 * 1024;

/// The minimum number of lines for compaction.
const MIN_LINES: usize = 1_000;

/// How many logs a process leaves alone because they have open records, before it uses one of them.
const MAX_SPARED: u32 = 8;

/// A record in a directory, as [`Directory::list`](super::Directory::list) returns it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Listed {
    /// The number of the submission in the directory, starting at 1.
    pub number: u64,
    /// What is known about the submission.
    pub record: Record,
    /// Whether a process that has the directory open works on it.
    pub is_in_use: bool,
}

/// A change of a record.
#[derive(Clone)]
pub(super) enum Change {
    Intend(Intent),
    /// The id of a submission, and what happened to it.
    Advance(String, Step),
}

/// The log of this process, and its records.
pub(super) struct Log {
    directory: PathBuf,
    disk: Arc<dyn Disk>,
    file: LogFile,
    lines: usize,
    content: Content,
    /// The numbers of the records by the ids of their submissions.
    numbers: HashMap<String, u64>,
    next: Numbers,
    /// The highest number in the directory when the log was opened.
    floor: u64,
    /// The number of closed records that are kept.
    closed: usize,
    /// The number of records whose acceptance needs space.
    unknown: usize,
    /// The number of lines at which a compaction may be worthwhile.
    worthwhile: usize,
    /// Held until the log is dropped, or the process ends.
    _lock: File,
}

/// A record after a change, and its line.
struct Changed {
    number: u64,
    record: Record,
    line: Vec<u8>,
}

impl Log {
    /// Opens the first log that no process has open and that has no open records, or creates one.
    ///
    /// A process that never asks for open records must not keep others from continuing them.
    pub(super) fn open(directory: &Path, closed: usize, disk: Arc<dyn Disk>) -> io::Result<Self> {
        create_private(directory)?;
        let directory = fs::canonicalize(directory)?;
        let all = all(&directory)?;
        let (index, lock) = (1..)
            .find_map(|index| free(&directory, index, &all).transpose())
            .ok_or(io::ErrorKind::QuotaExceeded)??;
        let (file, text) = LogFile::open(log_path(&directory, index), Arc::clone(&disk))?;
        let mut log = Self {
            file,
            lines: 0,
            content: Content::default(),
            numbers: HashMap::new(),
            next: Numbers::open(&directory, Arc::clone(&disk))?,
            floor: all.records.last_key_value().map_or(0, |(number, _)| *number),
            closed,
            unknown: 0,
            worthwhile: MIN_LINES,
            _lock: lock,
            disk,
            directory,
        };
        log.read(&text)?;
        log.disk.sync_names(&log.directory)?;
        // Another process may have included a record, and closed it.
        let records = all.records.into_iter();
        let known = records.filter(|(_, record)| log.numbers.contains_key(record.intent().id()));
        let known: Vec<_> = known.collect();
        if let Err(error) = log.add(known, Vec::new()) {
            // The disk may be full. What is left to do costs nothing to find out again.
            tracing::warn!(%error, "could not bring a log of the journal up to date");
        }
        log.compact_if_worthwhile()?;
        Ok(log)
    }

    /// Reads the file, and cuts what follows its last complete line.
    fn read(&mut self, text: &[u8]) -> io::Result<()> {
        let content = Content::read(text);
        if !content.unreadable.is_empty() {
            let (lines, path) = (content.unreadable.len(), self.file.path().display());
            tracing::warn!(lines, %path, "kept lines of the journal that could not be read");
        }
        self.file.cut(content.length as u64)?;
        self.lines = content.lines;
        self.content = content;
        self.count();
        Ok(())
    }

    /// Derives what is known about the records from all of them.
    fn count(&mut self) {
        self.numbers = self.content.records.iter().map(by_submission).collect();
        self.unknown = self.content.records.values().filter(|record| is_unknown(record)).count();
    }

    /// Returns the records by their numbers.
    pub(super) fn records(&self) -> impl DoubleEndedIterator<Item = (&u64, &Record)> {
        self.content.records.iter()
    }

    /// Writes changes with one flush. If that fails, each is written alone, so that one does not
    /// fail because of another.
    pub(super) fn write(&mut self, changes: Vec<Change>) -> Vec<io::Result<()>> {
        let numbers = match self.give_numbers(&changes) {
            Ok(numbers) => numbers,
            Err(error) => return changes.iter().map(|_| Err(again(&error))).collect(),
        };
        if self.write_together(&changes, &numbers).is_ok() {
            return changes.iter().map(|_| Ok(())).collect();
        }
        let alone = changes.iter().zip(&numbers);
        alone
            .map(|(change, number)| {
                self.write_together(std::slice::from_ref(change), std::slice::from_ref(number))
            })
            .collect()
    }

    /// Returns a number for each intent, and 0 for the other changes.
    fn give_numbers(&mut self, changes: &[Change]) -> io::Result<Vec<u64>> {
        let is_new = |change: &Change| matches!(change, Change::Intend(_));
        let count = changes.iter().filter(|change| is_new(change)).count() as u64;
        let mut next = match count {
            0 => 0,
            count => self.next.give(count, self.floor)?,
        };
        let numbers = changes.iter().map(|change| {
            let number = if is_new(change) { next } else { 0 };
            next += u64::from(is_new(change));
            number
        });
        Ok(numbers.collect())
    }

    fn write_together(&mut self, changes: &[Change], numbers: &[u64]) -> io::Result<()> {
        let changed = self.apply(changes, numbers)?;
        if changed.is_empty() {
            return Ok(());
        }
        self.file.must_be_there()?;
        let lines: Vec<u8> =
            changed.iter().flat_map(|changed| changed.line.iter().copied()).collect();
        // Only an acceptance may take the space that is kept for acceptances.
        let needs_room = changed.iter().any(|changed| changed.record.state() != &State::Accepted);
        self.write_ahead(lines.len() as u64, &changed, needs_room)?;
        self.file.append(&lines)?;
        self.lines += changed.len();
        self.unknown = self.unknown_with(&changed);
        for Changed { number, record, .. } in changed {
            self.numbers.insert(record.intent().id().to_owned(), number);
            self.content.records.insert(number, record);
        }
        if let Err(error) = self.compact_if_worthwhile() {
            // The changes are durable.
            tracing::warn!(%error, "could not compact the journal");
        }
        Ok(())
    }

    /// Returns the records that the changes change.
    fn apply(&self, changes: &[Change], numbers: &[u64]) -> io::Result<Vec<Changed>> {
        let mut staged: BTreeMap<u64, Record> = BTreeMap::new();
        for (change, new) in changes.iter().zip(numbers) {
            match change {
                Change::Intend(intent) => {
                    staged.insert(*new, Record::new(intent.clone()));
                }
                Change::Advance(submission, step) => {
                    let known = self.numbers.get(submission).copied();
                    let number = known.or_else(|| {
                        let mut staged = staged.iter();
                        staged
                            .find(|(_, record)| record.intent().id() == submission)
                            .map(|(n, _)| *n)
                    });
                    let Some(number) = number else {
                        // A closed record may have been removed. A task must not be.
                        match step {
                            Step::Accepted(_) => return Err(missing()),
                            _ => continue,
                        }
                    };
                    let known = staged.get(&number).or_else(|| self.content.records.get(&number));
                    let Some(mut record) = known.cloned() else { return Err(missing()) };
                    if record.advance(step) {
                        staged.insert(number, record);
                    }
                }
            }
        }
        let changed = staged
            .into_iter()
            .map(|(number, record)| Ok(Changed { line: line(number, &record)?, number, record }));
        changed.collect()
    }

    /// Makes sure that there are zeros for `length` bytes, and for the acceptance of each open
    /// submission, which `changed` may add.
    fn write_ahead(
        &mut self,
        length: u64,
        changed: &[Changed],
        needs_room: bool,
    ) -> io::Result<()> {
        let mut wanted = length;
        if needs_room {
            let longest = changed.iter().map(|changed| changed.line.len()).max().unwrap_or(0);
            wanted += self.unknown_with(changed) as u64 * (ROOM + longest as u64);
        }
        self.file.write_ahead(wanted)
    }

    /// Returns the number of records whose acceptance needs space after a change.
    fn unknown_with(&self, changed: &[Changed]) -> usize {
        let before = changed.iter().filter_map(|one| self.content.records.get(&one.number));
        let before = before.filter(|record| is_unknown(record)).count();
        let after = changed.iter().filter(|one| is_unknown(&one.record)).count();
        self.unknown + after - before
    }

    /// Moves the records of processes that have ended to this log.
    pub(super) fn take_over(&mut self) -> io::Result<()> {
        for index in indices(&self.directory)? {
            let path = log_path(&self.directory, index);
            if path == self.file.path() {
                continue;
            }
            let Some(_lock) = lock(&self.directory, index)? else { continue };
            let (mut file, text) = LogFile::open(path, Arc::clone(&self.disk))?;
            if text.is_empty() {
                continue;
            }
            let Content { records, unreadable, .. } = Content::read(&text);
            self.add(records, unreadable)?;
            // They are durable in this log.
            file.cut(0)?;
        }
        Ok(())
    }

    /// Adds records of another store. Later submissions get higher numbers.
    pub(super) fn include(&mut self, records: Vec<(u64, Record)>) -> io::Result<()> {
        self.add(records, Vec::new())?;
        let highest = self.content.records.last_key_value().map_or(0, |(number, _)| *number);
        self.next.give(0, highest).map(drop)
    }

    fn add(
        &mut self,
        records: impl IntoIterator<Item = (u64, Record)>,
        unreadable: Vec<Vec<u8>>,
    ) -> io::Result<()> {
        self.file.must_be_there()?;
        let mut lines = unreadable.concat();
        let mut content = Content { records: self.content.records.clone(), ..Content::default() };
        let mut count = unreadable.len();
        for (number, record) in records {
            let number = content.add(number, record);
            if let Some(record) = content.records.get(&number)
                && self.content.records.get(&number) != Some(record)
            {
                lines.extend(line(number, record)?);
                count += 1;
            }
        }
        if lines.is_empty() {
            return Ok(());
        }
        self.write_ahead(lines.len() as u64, &[], true)?;
        self.file.append(&lines)?;
        self.lines += count;
        self.content.records = content.records;
        self.content.unreadable.extend(unreadable);
        self.count();
        self.compact_if_worthwhile()
    }

    /// Replaces the file by a copy without the closed records that are not kept, if that makes it
    /// much smaller.
    fn compact_if_worthwhile(&mut self) -> io::Result<()> {
        if self.lines < self.worthwhile {
            return Ok(());
        }
        let closed = self.records().filter(|(_, record)| record.state().is_closed());
        let closed: Vec<u64> = closed.map(|(number, _)| *number).collect();
        for number in closed.iter().take(closed.len().saturating_sub(self.closed)) {
            if let Some(record) = self.content.records.remove(number) {
                self.numbers.remove(record.intent().id());
            }
        }
        let kept = self.content.records.len() + self.content.unreadable.len();
        self.worthwhile = MIN_LINES.max(4 * kept);
        if self.lines < self.worthwhile {
            return Ok(());
        }
        let mut text = self.content.unreadable.concat();
        for (number, record) in &self.content.records {
            text.extend(line(*number, record)?);
        }
        self.file.replace(&text)?;
        self.lines = kept;
        Ok(())
    }
}

/// Returns the records of all logs, newest first.
pub(super) fn list(directory: &Path) -> io::Result<Vec<Listed>> {
    let mut is_in_use = HashSet::new();
    for index in indices(directory)? {
        if is_locked(directory, index)? {
            let records = read_log(directory, index)?.records;
            is_in_use.extend(records.values().map(|record| record.intent().id().to_owned()));
        }
    }
    let listed = all(directory)?.records.into_iter().rev().map(|(number, record)| Listed {
        number,
        is_in_use: is_in_use.contains(record.intent().id()),
        record,
    });
    Ok(listed.collect())
}

/// Returns the latest state of the records of all logs.
fn all(directory: &Path) -> io::Result<Content> {
    let mut content = Content::default();
    // Twice, because a process may move records from a log that is read later to one that was read
    // before.
    for _ in 0..2 {
        for index in indices(directory)? {
            for (number, record) in read_log(directory, index)?.records {
                content.add(number, record);
            }
        }
    }
    Ok(content)
}

/// Returns the index and the lock of a log for a new process, or `None` if it should use another
/// one.
fn free(directory: &Path, index: u32, all: &Content) -> io::Result<Option<(u32, File)>> {
    let Some(lock) = lock(directory, index)? else { return Ok(None) };
    let is_open = |number| all.records.get(number).is_some_and(|one| !one.state().is_closed());
    let log = read_log(directory, index)?;
    let is_spared = index <= MAX_SPARED && log.records.keys().any(is_open);
    Ok((!is_spared).then_some((index, lock)))
}

fn read_log(directory: &Path, index: u32) -> io::Result<Content> {
    match fs::read(log_path(directory, index)) {
        Ok(text) => Ok(Content::read(&text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Content::default()),
        Err(error) => Err(error),
    }
}

fn is_unknown(record: &Record) -> bool {
    record.state() == &State::Unknown
}

fn by_submission((number, record): (&u64, &Record)) -> (String, u64) {
    (record.intent().id().to_owned(), *number)
}

fn missing() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "the journal does not contain the submission")
}

fn again(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), error.to_string())
}
