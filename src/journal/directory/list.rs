//! Locates and reads the files of a journal. `open/17.json` is the record of the 17th submission
//! until the record is closed, and `closed/0/17.json` afterwards.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    disk::{Disk, if_present},
    process,
    text::{self, Content},
};
use crate::journal::{Record, Unreadable};

pub(super) const OPEN: &str = "open";
pub(super) const CLOSED: &str = "closed";
pub(super) const PROCESSES: &str = "processes";

/// The maximum number of closed records in one directory.
pub(super) const SHARD: u64 = 1_000;

/// A record in a directory, as [`Directory::list`](super::Directory::list) returns it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Listed {
    /// The number of the submission in the directory, starting at 1.
    pub number: u64,
    /// What is known about the submission.
    pub record: Record,
    /// Whether a running process owns the record.
    pub is_in_use: bool,
}

/// A record, or why it cannot be read.
pub(super) type Found = Result<Listed, Unreadable>;

/// The content of a file, or why it cannot be read.
pub(super) type Read = Result<Content, String>;

/// The contents of the two files that a record can have. After a crash, both may exist.
pub(super) struct Places {
    pub(super) open: Option<Read>,
    pub(super) closed: Option<Read>,
}

impl Places {
    pub(super) fn read(disk: &dyn Disk, folder: &Path, number: u64) -> io::Result<Self> {
        let open = read(disk, &open_path(folder, number))?;
        let mut closed = read(disk, &closed_path(folder, number))?;
        if let (Some(Ok(one)), Some(Ok(other))) = (&open, &closed)
            && one.record.intent().id() != other.record.intent().id()
        {
            // Two submissions have the same number, for example because somebody has copied a file
            // from another journal.
            closed = Some(Err("it is the record of another submission".to_owned()));
        }
        Ok(Self { open, closed })
    }

    fn both(&self) -> impl Iterator<Item = &Read> {
        [&self.open, &self.closed].into_iter().flatten()
    }

    /// Returns the record, merged from both files. `None` if neither file can be read.
    pub(super) fn record(&self) -> Option<Record> {
        let records = self.both().filter_map(|read| Some(read.as_ref().ok()?.record.clone()));
        records.reduce(Record::join)
    }

    /// Returns the name of the process that owns the record.
    pub(super) fn owner(&self) -> Option<&str> {
        self.open.as_ref()?.as_ref().ok()?.owner.as_deref()
    }

    /// Returns the path of the record and why it cannot be read, if there is an unreadable file.
    pub(super) fn unreadable(&self, folder: &Path, number: u64) -> Option<Unreadable> {
        let reason = self.both().find_map(|read| read.as_ref().err())?.clone();
        let is_open = self.open.is_some();
        let path = if is_open { open_path } else { closed_path }(folder, number);
        Some(Unreadable { number, path, reason })
    }
}

/// Names the process that may have locked a file, for an error message.
pub(super) fn holder(places: io::Result<Places>) -> String {
    match places.as_ref().ok().and_then(Places::owner) {
        Some(owner) => format!("process {}, or another one,", process::number(owner)),
        None => "another process".to_owned(),
    }
}

/// Reads a file. `None` if it does not exist.
fn read(disk: &dyn Disk, path: &Path) -> io::Result<Option<Read>> {
    /// Another process may be writing a line at this moment, so a file that looks damaged is read
    /// again.
    const TRIES: u32 = 3;
    let mut tries = 0;
    loop {
        tries += 1;
        let text = match if_present(disk.read(path)) {
            Ok(None) => return Ok(None),
            Ok(Some(text)) => text::read(&text).map_err(str::to_owned),
            // It is not a file.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(error.to_string()),
            Err(error) => return Err(error),
        };
        match text {
            Ok(content) if !content.is_damaged => return Ok(Some(Ok(content))),
            read if tries == TRIES => return Ok(Some(read)),
            _ => std::thread::yield_now(),
        }
    }
}

/// A record, and the name of the process that owns it.
type Owned = (Record, Option<String>);

/// Reads the files of a record. `None` if there are none.
pub(super) fn load(
    folder: &Path,
    disk: &dyn Disk,
    number: u64,
) -> io::Result<Option<Result<Owned, Unreadable>>> {
    let mut places = Places::read(disk, folder, number)?;
    if places.both().next().is_none() {
        // Another process may have moved the record from `closed` to `open` between the two reads.
        places = Places::read(disk, folder, number)?;
    }
    Ok(match places.record() {
        Some(record) => Some(Ok((record, places.owner().map(str::to_owned)))),
        None => places.unreadable(folder, number).map(Err),
    })
}

/// The records of a directory, newest first, as [`Directory::list`](super::Directory::list) returns
/// them.
pub struct List {
    folder: PathBuf,
    disk: Arc<dyn Disk>,
    /// The numbers of the records that are still to be returned: of all open records, and of the
    /// closed records in the directories that were read.
    numbers: BTreeSet<u64>,
    /// The directories of closed records that were not read yet.
    shards: BTreeSet<u64>,
    has_closed: bool,
}

impl List {
    /// Lists the records in a directory. The list is empty if the directory does not exist.
    pub(super) fn new(folder: &Path, disk: Arc<dyn Disk>) -> io::Result<Self> {
        let numbers: BTreeSet<u64> = numbers(&folder.join(OPEN))?.into_iter().collect();
        let shards = shards(folder)?.into_iter().collect();
        let folder = folder.to_owned();
        Ok(Self { folder, disk, numbers, shards, has_closed: true })
    }

    /// Omits closed records, without reading their directories.
    pub(super) fn without_closed(self) -> Self {
        Self { shards: BTreeSet::new(), has_closed: false, ..self }
    }

    /// Returns the record with a number.
    pub(super) fn record(&self, number: u64) -> io::Result<Option<Found>> {
        let listed = |(record, owner): Owned| {
            let owner = owner.filter(|_| !record.state().is_closed());
            let processes = self.folder.join(PROCESSES);
            let is_in_use = owner.is_some_and(|owner| process::is_running(&processes, &owner));
            Listed { number, record, is_in_use }
        };
        Ok(load(&self.folder, &*self.disk, number)?.map(|loaded| loaded.map(listed)))
    }

    /// Reads directories of closed records, newest first, until `numbers` contains the newest
    /// record that was not returned yet.
    fn fill(&mut self) -> Result<(), Unreadable> {
        while let Some(shard) = self.shards.last().copied() {
            if self.numbers.last().is_some_and(|number| number / SHARD > shard) {
                break;
            }
            self.shards.pop_last();
            let path = self.folder.join(CLOSED).join(shard.to_string());
            let number = shard.saturating_mul(SHARD);
            self.numbers.extend(numbers(&path).map_err(|error| failed(number, path, error))?);
        }
        Ok(())
    }
}

impl Iterator for List {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            if let Err(unreadable) = self.fill() {
                return Some(Err(unreadable));
            }
            let number = self.numbers.pop_last()?;
            match self.record(number) {
                Ok(Some(Ok(listed))) if listed.record.state().is_closed() && !self.has_closed => {}
                Ok(Some(found)) => return Some(found),
                // Another process has removed the record in the meantime.
                Ok(None) => {}
                Err(error) => {
                    return Some(Err(failed(number, open_path(&self.folder, number), error)));
                }
            }
        }
    }
}

fn failed(number: u64, path: PathBuf, error: io::Error) -> Unreadable {
    Unreadable { number, path, reason: error.to_string() }
}

pub(super) fn open_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(OPEN).join(format!("{number}.json"))
}

pub(super) fn closed_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(CLOSED).join((number / SHARD).to_string()).join(format!("{number}.json"))
}

/// Returns the names of the files in a directory, or none if the directory does not exist.
pub(super) fn names(folder: &Path) -> io::Result<Vec<String>> {
    let Some(files) = if_present(folder.read_dir())? else { return Ok(Vec::new()) };
    let names = files.map(|file| Ok(file?.file_name().into_string().unwrap_or_default()));
    names.collect()
}

/// Returns the numbers of the records in a directory, in ascending order.
pub(super) fn numbers(folder: &Path) -> io::Result<Vec<u64>> {
    let names = names(folder)?;
    let number = |name: &String| name.strip_suffix(".json")?.parse().ok();
    let mut numbers: Vec<u64> = names.iter().filter_map(number).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

pub(super) fn shards(folder: &Path) -> io::Result<Vec<u64>> {
    let names = names(&folder.join(CLOSED))?;
    Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
}

/// Returns the highest number of a record, or 0.
pub(super) fn highest(folder: &Path) -> io::Result<u64> {
    let newest = shards(folder)?.into_iter().max();
    let newest = newest.map(|shard| numbers(&folder.join(CLOSED).join(shard.to_string())));
    let closed = newest.transpose()?.unwrap_or_default();
    let open = numbers(&folder.join(OPEN))?;
    Ok(open.into_iter().chain(closed).max().unwrap_or_default())
}
