//! A journal in a directory, for several processes at once.

mod disk;
mod files;
mod keys;
mod list;
mod process;
mod take_over;
mod text;

use std::{fmt, io, path::Path, sync::Arc};

use tokio::task::spawn_blocking;

pub use self::{
    disk::Disk,
    list::{List, Listed},
};
use self::{disk::System, files::Files, list::Found};
use super::{Continues, Intent, Journal, JournalFuture, Key, Keyed, Record, Step, Unreadable};
use crate::{Error, ErrorKind, TaskRef};

/// A [`Journal`] in a directory with a small file of JSON for each submission.
///
/// - `open/17.json` is the record of the 17th submission until nothing is left to do, and
///   `closed/0/17.json` afterwards. No two submissions share a file, so damage to a file is the
///   loss of one record at most. A file that cannot be read is [listed](Self::list) with its path,
///   and its bytes are not changed.
/// - Several processes can use the directory at the same time. A process that has ended leaves its
///   open records to the first one that asks for them. A process that is stopped while it writes a
///   file keeps others from changing that file: they fail after five seconds.
/// - Every write is flushed to disk. Before a submission is sent, the space for its acceptance is
///   on the disk, so a disk that fills up afterwards loses nothing. Copy-on-write file systems such
///   as Btrfs and ZFS do not keep written space: leave some space free there.
/// - Only the user of the process can read the files (mode 0600), because polling URLs may be
///   signed. They contain no keys, secrets or prompts, unless the program puts them into a
///   [`Origin`](super::Origin).
/// - Nothing is removed unless the program [asks for it](Self::forget_closed). A closed record
///   takes an inode and a block of the disk, which is 4 KiB on most.
///
/// The file system must support file locks.
#[derive(Clone)]
pub struct Directory(Arc<Files>);

impl Directory {
    /// Opens the directory at `path`, or creates it. Blocks while it reads the names of files.
    ///
    /// # Errors
    ///
    /// Kind [`Journal`](ErrorKind::Journal): the directory cannot be created or read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_on(path, Arc::new(System))
    }

    /// Opens the directory like [`open`](Self::open), and uses its files with the operations of
    /// `disk`.
    ///
    /// # Errors
    ///
    /// The same errors as [`open`](Self::open).
    #[doc(hidden)]
    pub fn open_on(path: impl AsRef<Path>, disk: Arc<dyn Disk>) -> Result<Self, Error> {
        let path = path.as_ref();
        let files = Files::open(path, disk).map_err(|error| unusable(path, error))?;
        Ok(Self(Arc::new(files)))
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        self.0.folder()
    }

    /// Returns all records, newest first, without opening the directory: nothing if it does not
    /// exist. Each record is read when the iterator returns it, which blocks.
    ///
    /// # Errors
    ///
    /// Kind [`Journal`](ErrorKind::Journal): the directory cannot be read.
    pub fn list(path: impl AsRef<Path>) -> Result<List, Error> {
        let path = path.as_ref();
        List::of_system(path).map_err(|error| unusable(path, error))
    }

    /// Returns the records that are not closed like [`list`](Self::list), and takes no longer if
    /// there are many others.
    ///
    /// # Errors
    ///
    /// The same errors as [`list`](Self::list).
    #[doc(hidden)]
    pub fn list_open(path: impl AsRef<Path>) -> Result<List, Error> {
        Self::list(path).map(List::without_closed)
    }

    /// Returns the record with a number, without opening the directory. Blocks.
    ///
    /// # Errors
    ///
    /// Kind [`Journal`](ErrorKind::Journal): the directory cannot be read.
    #[doc(hidden)]
    pub fn find(
        path: impl AsRef<Path>,
        number: u64,
    ) -> Result<Option<Result<Listed, Unreadable>>, Error> {
        let path = path.as_ref();
        let found = List::of_system(path).and_then(|mut list| list.record(number));
        found.map_err(|error| unusable(path, error))
    }

    /// Returns the open records that this process works on, oldest first: its own, and those of
    /// processes that have ended, which it continues.
    ///
    /// # Errors
    ///
    /// Kind [`Journal`](ErrorKind::Journal): the directory cannot be read.
    #[doc(hidden)]
    pub async fn take_over(&self) -> Result<Vec<Result<Listed, Unreadable>>, Error> {
        let taken = self.run(|files| files.take_over(&|_| true)).await;
        taken.map_err(|error| unusable(self.path(), error))
    }

    /// Makes this process the one that works on the open record with a number, so that no other
    /// process [takes it over](Self::take_over). Returns `false` if a process works on it that
    /// runs, or if the record is closed.
    ///
    /// # Errors
    ///
    /// Kind [`Journal`](ErrorKind::Journal): the directory cannot be read.
    #[doc(hidden)]
    pub async fn claim(&self, number: u64) -> Result<bool, Error> {
        let claimed = self.run(move |files| files.claim(number)).await;
        claimed.map_err(|error| unusable(self.path(), error))
    }

    /// Removes closed records, except the newest `keep` of all records and some older ones: whole
    /// directories of 1,000. A program that depends on the memory of its journal, for example to
    /// submit nothing twice, must not call it.
    ///
    /// # Errors
    ///
    /// Kind [`Journal`](ErrorKind::Journal): a directory cannot be removed.
    pub async fn forget_closed(&self, keep: u64) -> Result<(), Error> {
        let forget = move |files: &Files| files.forget_closed(keep);
        self.run(forget).await.map_err(|error| unusable(self.path(), error))
    }

    /// Uses the files on a thread that may block. It runs to its end even if this future is
    /// dropped.
    async fn run<T: Send + 'static>(
        &self,
        action: impl FnOnce(&Files) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let files = Arc::clone(&self.0);
        spawn_blocking(move || action(&files)).await?
    }
}

fn unusable(path: &Path, error: io::Error) -> Error {
    let advice = match error.kind() {
        io::ErrorKind::Unsupported => "use a directory on a file system with file locks",
        io::ErrorKind::TimedOut => "try again once the lock is free",
        _ => "check the path and its permissions",
    };
    Error::new(ErrorKind::Journal, format!("could not use the journal {}", path.display()))
        .with_advice(advice)
        .with_source(error)
}

impl Journal for Directory {
    fn intend<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()> {
        let intent = intent.clone();
        Box::pin(async { Ok(self.run(|files| files.intend(intent).map(drop)).await?) })
    }

    fn intend_once<'a>(
        &'a self,
        intent: &'a Intent,
        key: &'a Key,
    ) -> JournalFuture<'a, Option<Keyed>> {
        let (intent, key) = (intent.clone(), key.clone());
        Box::pin(async { Ok(self.run(move |files| files.intend_once(intent, &key)).await?) })
    }

    fn of_key<'a>(&'a self, key: &'a Key) -> JournalFuture<'a, Option<Keyed>> {
        let key = key.clone();
        Box::pin(async { Ok(self.run(move |files| files.of_key(&key)).await?) })
    }

    fn advance<'a>(&'a self, submission: &'a str, step: &'a Step) -> JournalFuture<'a, ()> {
        let (submission, step) = (submission.to_owned(), step.clone());
        let advance = move |files: &Files| files.advance(&submission, &step);
        Box::pin(async { Ok(self.run(advance).await?) })
    }

    fn adopt<'a>(&'a self, submission: &'a Intent, task: &'a TaskRef) -> JournalFuture<'a, bool> {
        let (submission, task) = (submission.clone(), task.clone());
        Box::pin(async { Ok(self.run(move |files| files.adopt(&submission, task)).await?) })
    }

    fn open_records(&self) -> JournalFuture<'_, Vec<Result<Record, Unreadable>>> {
        self.open_records_for(Arc::new(|_| true))
    }

    fn open_records_for(
        &self,
        continues: Continues,
    ) -> JournalFuture<'_, Vec<Result<Record, Unreadable>>> {
        let record = |found: Found| found.map(|listed| listed.record);
        Box::pin(async move {
            let found = self.run(move |files| files.take_over(&*continues)).await?;
            Ok(found.into_iter().map(record).collect())
        })
    }
}

impl fmt::Debug for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Directory").field("path", &self.path()).finish_non_exhaustive()
    }
}
