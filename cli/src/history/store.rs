//! The files of the history: one for each submission, named after its number.
//!
//! Every file is replaced as a whole, so processes that write at the same time lose nothing, and a
//! damaged file hides no other. Beside it is a lock that a process holds while it works on the
//! submission. The system releases the lock when the process ends, however it ends.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use tempfile::{Builder, NamedTempFile};

use super::{entry::Entry, place};
use crate::{directory::create_private, failure::Failure};

/// The number of finished submissions that are kept.
const MAX_FINISHED: usize = 1_000;

/// The number of all submissions that are kept. The oldest are removed even if they are unfinished.
const MAX_ENTRIES: usize = 10_000;

/// How many submissions pass between two removals of old ones.
const PRUNE_EVERY: u64 = 64;

/// Temporary files of this age belong to processes that were killed.
const ABANDONED: Duration = Duration::from_secs(3600);

const TEMPORARY: &str = ".new-";

/// The directory of the history. It is created with the first submission.
#[derive(Debug, Clone)]
pub struct Store {
    directory: PathBuf,
}

/// The right to work on a submission, until it is dropped.
#[derive(Debug)]
pub struct Claim {
    /// `None` on a file system without locks.
    _lock: Option<File>,
}

impl Store {
    pub fn locate() -> Result<Self, Failure> {
        Ok(Self { directory: place::directory()? })
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The numbers of all submissions, newest first.
    pub fn numbers(&self) -> io::Result<Vec<u64>> {
        let files = match fs::read_dir(&self.directory) {
            Ok(files) => files,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut numbers = Vec::new();
        for file in files {
            let name = file?.file_name();
            numbers.extend(name.to_str().and_then(number_of));
        }
        numbers.sort_unstable_by(|a, b| b.cmp(a));
        Ok(numbers)
    }

    pub fn read(&self, number: u64) -> io::Result<Entry> {
        let text = fs::read(self.path(number))?;
        Ok(serde_json::from_slice(&text)?)
    }

    /// Adds a submission under the next free number, and claims it. It is durable when this method
    /// returns.
    pub fn create(&self, entry: &Entry) -> io::Result<(u64, Claim)> {
        create_private(&self.directory)?;
        let mut number = self.numbers()?.first().map_or(1, |last| last.saturating_add(1));
        loop {
            // The lock comes first, so that no other process takes the submission for abandoned.
            if let Some(claim) = self.claim(number)? {
                match self.temporary(entry)?.persist_noclobber(self.path(number)) {
                    Ok(_) => {
                        flush(&self.directory)?;
                        if number.is_multiple_of(PRUNE_EVERY) {
                            self.prune(MAX_FINISHED, MAX_ENTRIES);
                        }
                        return Ok((number, claim));
                    }
                    Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(error.error),
                }
            }
            number = number.checked_add(1).ok_or(io::ErrorKind::StorageFull)?;
        }
    }

    /// Replaces the file of a submission.
    pub fn write(&self, number: u64, entry: &Entry) -> io::Result<()> {
        self.temporary(entry)?.persist(self.path(number)).map_err(|error| error.error)?;
        flush(&self.directory)
    }

    /// Removes a submission that was certainly not billed. Its lock stays: another process may have
    /// opened it.
    pub fn remove(&self, number: u64) -> io::Result<()> {
        fs::remove_file(self.path(number))
    }

    /// The right to work on a submission; `None` if another process has it.
    pub fn claim(&self, number: u64) -> io::Result<Option<Claim>> {
        let lock = private().write(true).create(true).truncate(false).open(self.lock(number))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Claim { _lock: Some(lock) })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(_)) => Ok(Some(Claim { _lock: None })),
        }
    }

    /// Whether another process works on a submission.
    pub fn is_claimed(&self, number: u64) -> bool {
        self.claim(number).is_ok_and(|claim| claim.is_none())
    }

    /// A complete file under a temporary name, which only its owner can read.
    fn temporary(&self, entry: &Entry) -> io::Result<NamedTempFile> {
        let mut file = Builder::new().prefix(TEMPORARY).tempfile_in(&self.directory)?;
        let mut text = serde_json::to_vec(entry)?;
        text.push(b'\n');
        file.write_all(&text)?;
        file.as_file().sync_all()?;
        Ok(file)
    }

    /// Removes the oldest submissions. What can't be removed stays.
    fn prune(&self, max_finished: usize, max_entries: usize) {
        let mut finished = 0;
        for (at, number) in self.numbers().unwrap_or_default().into_iter().enumerate() {
            // A damaged file may name a task, so it counts as unfinished.
            let is_finished = self.read(number).is_ok_and(|entry| entry.end.is_some());
            finished += usize::from(is_finished);
            if at >= max_entries || is_finished && finished > max_finished {
                let _ = fs::remove_file(self.path(number));
                let _ = fs::remove_file(self.lock(number));
            }
        }
        for file in fs::read_dir(&self.directory).into_iter().flatten().flatten() {
            let is_temporary = file.file_name().to_string_lossy().starts_with(TEMPORARY);
            let written = file.metadata().and_then(|metadata| metadata.modified());
            let age = written.ok().and_then(|at| at.elapsed().ok());
            if is_temporary && age.is_some_and(|age| age > ABANDONED) {
                let _ = fs::remove_file(file.path());
            }
        }
    }

    fn path(&self, number: u64) -> PathBuf {
        self.directory.join(format!("{number}.json"))
    }

    fn lock(&self, number: u64) -> PathBuf {
        self.directory.join(format!("{number}.lock"))
    }
}

fn number_of(name: &str) -> Option<u64> {
    let text = name.strip_suffix(".json")?;
    text.parse().ok().filter(|number: &u64| number.to_string() == text)
}

/// Options for files that other users can't read.
fn private() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has modes"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes a new name in a directory durable.
fn flush(directory: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{super::entry::End, *};
    use crate::{history::destination::Destination, target::Target};

    fn store() -> (tempfile::TempDir, Store) {
        let directory = tempfile::tempdir().unwrap();
        let store = Store { directory: directory.path().join("state").join("history") };
        (directory, store)
    }

    fn entry(end: Option<End>) -> Entry {
        let intent = r#"{"id":"0","operation":"gen-2-pro","at":1}"#;
        let intent = serde_json::from_str(intent).unwrap();
        Entry {
            end,
            ..Entry::new(
                intent,
                Some("a fox"),
                Destination::of(&Target::of(None, false, false).unwrap()),
            )
        }
    }

    #[test]
    fn writers_at_the_same_time_get_different_numbers() {
        let (_directory, store) = store();
        let numbers: HashSet<u64> = std::thread::scope(|scope| {
            let add = || (0..20).map(|_| store.create(&entry(None)).unwrap().0).collect::<Vec<_>>();
            let writers: Vec<_> = (0..4).map(|_| scope.spawn(add)).collect();
            writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
        });
        assert_eq!(numbers, (1..=80).collect());
        assert_eq!(store.numbers().unwrap(), (1..=80).rev().collect::<Vec<_>>());
    }

    #[test]
    fn a_claim_is_exclusive_until_it_is_dropped() {
        let (_directory, store) = store();
        let (number, claim) = store.create(&entry(None)).unwrap();
        assert!(store.is_claimed(number) && store.claim(number).unwrap().is_none());
        drop(claim);
        assert!(!store.is_claimed(number) && store.claim(number).unwrap().is_some());
    }

    #[cfg(unix)]
    #[test]
    fn other_users_can_read_nothing() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_directory, store) = store();
        store.create(&entry(None)).unwrap();
        store.write(1, &entry(Some(End::Failed))).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&store.directory), 0o700);
        assert_eq!(mode(store.directory.parent().unwrap()), 0o700);
        assert_eq!((mode(&store.path(1)), mode(&store.lock(1))), (0o600, 0o600));
    }

    #[test]
    fn the_oldest_finished_submissions_are_removed_first() {
        let (_directory, store) = store();
        for number in 1..=8 {
            store.create(&entry((number != 2).then_some(End::Failed))).unwrap();
        }
        fs::write(store.path(3), "damaged").unwrap();
        store.prune(3, 100);
        assert_eq!(store.numbers().unwrap(), [8, 7, 6, 3, 2]);
        store.prune(3, 4);
        assert_eq!(store.numbers().unwrap(), [8, 7, 6, 3]);
        assert_eq!(store.create(&entry(None)).unwrap().0, 9);
    }
}
