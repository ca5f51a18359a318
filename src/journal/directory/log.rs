//! The log of a process, and the records in all logs.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    slice,
    sync::Arc,
};

use super::{
    file::{Content, LogFile, line},
    files::{
        Disk, Numbers, create_private, if_present, indices, is_locked, lock, lock_all,
        lock_all_to_read, log_path,
    },
};
use crate::journal::{Intent, Record, State, Step};

/// The space in bytes for the acceptance of a submission, beside what its intent takes: a task with
/// a long polling URL. A longer one may fail if the disk is full.
const ROOM: usize = 4 * 1024;

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
    content: Content,
    /// The numbers of the records by the ids of their submissions.
    numbers: HashMap<String, u64>,
    next: Numbers,
    /// The highest number in the directory when the log was opened.
    floor: u64,
    /// The number of closed records that are kept.
    closed: usize,
    /// The number of lines at which a compaction may be worthwhile.
    worthwhile: usize,
    /// Held until the log is dropped, or the process ends.
    _lock: File,
}

impl Log {
    /// Opens the first log that no process has open and that has no open records, or creates one.
    ///
    /// A process that never asks for open records must not keep others from continuing them.
    pub(super) fn open(directory: &Path, closed: usize, disk: Arc<dyn Disk>) -> io::Result<Self> {
        create_private(directory)?;
        let directory = fs::canonicalize(directory)?;
        let all = all(&directory)?;
        let tried = lock_all(&directory)?;
        let (index, lock) = (1..)
            .find_map(|index| free(&directory, index, &all).transpose())
            .ok_or(io::ErrorKind::QuotaExceeded)??;
        drop(tried);
        let (mut file, text) = LogFile::open(log_path(&directory, index), Arc::clone(&disk))?;
        let content = Content::read(&text);
        if !content.unreadable.is_empty() {
            let (lines, path) = (content.unreadable.len(), file.path().display());
            tracing::warn!(lines, %path, "kept lines of the journal that could not be read");
        }
        file.cut(content.length as u64)?;
        let mut log = Self {
            file,
            numbers: content.records.iter().map(by_submission).collect(),
            content,
            next: Numbers::open(&directory, Arc::clone(&disk))?,
            floor: all.highest(),
            closed,
            worthwhile: MIN_LINES,
            _lock: lock,
            disk,
            directory,
        };
        log.disk.sync_names(&log.directory)?;
        // Another process may have included a record, and closed it.
        let is_known = |record: &Record| log.numbers.contains_key(record.intent().id());
        let records = all.records.into_iter().filter(|(_, record)| is_known(record)).collect();
        if let Err(error) = log.add(records, Vec::new()) {
            // The disk may be full. What is left to do costs nothing to find out again.
            tracing::warn!(%error, "could not bring a log of the journal up to date");
        }
        log.compact_if_worthwhile()?;
        Ok(log)
    }

    /// Returns the records by their numbers.
    pub(super) fn records(&self) -> impl DoubleEndedIterator<Item = (&u64, &Record)> {
        self.content.records.iter()
    }

    /// Writes changes with one flush. If that fails, each is written alone, so that one does not
    /// fail because of another.
    pub(super) fn write(&mut self, changes: Vec<Change>) -> Vec<io::Result<()>> {
        let is_new = |change: &Change| matches!(change, Change::Intend(_));
        let count = changes.iter().filter(|change| is_new(change)).count() as u64;
        let first = if count == 0 { Ok(0) } else { self.next.give(count, self.floor) };
        let mut number = match first {
            Ok(number) => number,
            Err(error) => {
                let again = |_| Err(io::Error::new(error.kind(), error.to_string()));
                return changes.iter().map(again).collect();
            }
        };
        if self.write_together(&changes, number).is_ok() {
            return changes.iter().map(|_| Ok(())).collect();
        }
        let written = changes.iter().map(|change| {
            let written = self.write_together(slice::from_ref(change), number);
            number += u64::from(is_new(change));
            written
        });
        written.collect()
    }

    /// Writes changes with one flush. The intents get numbers from `number` on.
    fn write_together(&mut self, changes: &[Change], mut number: u64) -> io::Result<()> {
        let mut changed: BTreeMap<u64, Record> = BTreeMap::new();
        for change in changes {
            match change {
                Change::Intend(intent) => {
                    changed.insert(number, Record::new(intent.clone()));
                    number += 1;
                }
                Change::Advance(submission, step) => {
                    let Some(number) = self.numbers.get(submission) else {
                        // A closed record may have been removed. A task must not be.
                        if let Step::Accepted(_) = step {
                            let message = "the journal does not contain the submission";
                            return Err(io::Error::new(io::ErrorKind::NotFound, message));
                        }
                        continue;
                    };
                    let known = changed.get(number).or(self.content.records.get(number));
                    if let Some(mut record) = known.cloned()
                        && record.advance(step)
                    {
                        changed.insert(*number, record);
                    }
                }
            }
        }
        self.append(changed, Vec::new())
    }

    /// Writes changed records, and lines of another log, with one flush.
    fn append(
        &mut self,
        changed: BTreeMap<u64, Record>,
        unreadable: Vec<Vec<u8>>,
    ) -> io::Result<()> {
        let mut lines = unreadable.clone();
        for (number, record) in &changed {
            lines.push(line(*number, record)?);
        }
        if lines.is_empty() {
            return Ok(());
        }
        self.file.must_be_there()?;
        let text = lines.concat();
        self.file.write_ahead((text.len() + self.room(&changed, &lines)) as u64)?;
        self.file.append(&text)?;
        self.numbers.extend(changed.iter().map(by_submission));
        self.content.records.extend(changed);
        self.content.unreadable.extend(unreadable);
        self.content.lines += lines.len();
        if let Err(error) = self.compact_if_worthwhile() {
            // The changes are durable.
            tracing::warn!(%error, "could not compact the journal");
        }
        Ok(())
    }

    /// Returns the space in bytes to keep behind `lines` for the acceptances of all submissions
    /// that are unknown after a change. Only acceptances may take it.
    fn room(&self, changed: &BTreeMap<u64, Record>, lines: &[Vec<u8>]) -> usize {
        let known = &self.content.records;
        let is_acceptance = |(number, record): (&u64, &Record)| {
            record.state() == &State::Accepted && known.contains_key(number)
        };
        if lines.len() == changed.len() && changed.iter().all(is_acceptance) {
            return 0;
        }
        let others = known.iter().filter(|(number, _)| !changed.contains_key(number));
        let is_unknown = |(_, record): &(&u64, &Record)| record.state() == &State::Unknown;
        let unknown = others.chain(changed).filter(is_unknown).count();
        unknown * (ROOM + lines.iter().map(Vec::len).max().unwrap_or_default())
    }

    /// Moves the records of processes that have ended to this log.
    pub(super) fn take_over(&mut self) -> io::Result<()> {
        // Somebody may have removed the directory.
        let _tried = if_present(lock_all(&self.directory))?;
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
            self.add(records.into_iter().collect(), unreadable)?;
            // They are durable in this log.
            file.cut(0)?;
        }
        Ok(())
    }

    /// Adds records of another store. Later submissions get higher numbers.
    pub(super) fn include(&mut self, records: Vec<(u64, Record)>) -> io::Result<()> {
        self.add(records, Vec::new())?;
        self.next.give(0, self.content.highest()).map(drop)
    }

    fn add(&mut self, records: Vec<(u64, Record)>, unreadable: Vec<Vec<u8>>) -> io::Result<()> {
        // Even if nothing is written: the caller may remove what this log already has.
        self.file.must_be_there()?;
        let mut content = Content { records: self.content.records.clone(), ..Content::default() };
        for (number, record) in records {
            content.add(number, record);
        }
        let known = &self.content.records;
        let is_changed = |(number, record): &(u64, Record)| known.get(number) != Some(record);
        let changed = content.records.into_iter().filter(is_changed).collect();
        self.append(changed, unreadable)
    }

    /// Replaces the file by a copy without the closed records that are not kept, if that makes it
    /// much smaller.
    fn compact_if_worthwhile(&mut self) -> io::Result<()> {
        if self.content.lines < self.worthwhile {
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
        if self.content.lines < self.worthwhile {
            return Ok(());
        }
        let mut text = self.content.unreadable.concat();
        for (number, record) in &self.content.records {
            text.extend(line(*number, record)?);
        }
        self.file.replace(&text)?;
        self.content.lines = kept;
        Ok(())
    }
}

/// Returns the records of all logs, newest first.
pub(super) fn list(directory: &Path) -> io::Result<Vec<Listed>> {
    let mut is_in_use = HashSet::new();
    let tried = lock_all_to_read(directory)?;
    for index in indices(directory)? {
        if is_locked(directory, index)? {
            let records = read_log(directory, index)?.records;
            is_in_use.extend(records.values().map(|record| record.intent().id().to_owned()));
        }
    }
    drop(tried);
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
    let text = if_present(fs::read(log_path(directory, index)))?;
    Ok(Content::read(&text.unwrap_or_default()))
}

fn by_submission((number, record): (&u64, &Record)) -> (String, u64) {
    (record.intent().id().to_owned(), *number)
}
