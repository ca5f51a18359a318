//! A journal in a directory, which several processes can use at the same time.

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

/// A [`Journal`] in a directory, with a small JSON file for each submission.
///
/// - `open/17.json` is the record of the 17th submission until nothing is left to do for it, and
///   `closed/0/17.json` afterwards. No two submissions share a file, so a damaged file affects one
///   record at most. [`list`](Self::list) returns an error with the path of a file that it cannot
///   read, and the journal does not change the bytes of such a file.
/// - Several processes can use the directory at the same time. After a process has ended, the first
///   process that calls [`Client::resume`](crate::Client::resume) takes over its open records. If a
///   process is suspended while it writes a file, other processes cannot change that file, and fail
///   after five seconds.
/// - Every write is flushed to disk. Before the client sends a submission, the journal writes the
///   space for its acceptance, so a disk that fills up afterwards does not lose the paid task.
///   Copy-on-write file systems such as Btrfs and ZFS need new space for every write, so leave some
///   space free there.
/// - Only the user of the process can read the files (mode 0600), because polling URLs may be
///   signed. The files contain no API keys, secrets or prompts, unless the program puts some into
///   an [`Origin`](super::Origin).
/// - The journal keeps closed records until the program calls
///   [`forget_closed`](Self::forget_closed). Each takes an inode and a block of the disk, usually 4
///   KiB.
///
/// The file system must support file locks.
#[derive(Clone)]
pub struct Directory(Arc<Files>);

impl Directory {
    /// Opens the directory at `path`, or creates it. This method blocks, because it reads the names
    /// of the files.
    ///
    /// # Errors
    ///
    /// Kind [`Journal`](ErrorKind::Journal): the directory cannot be created or read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_on(path, Arc::new(System))
    }

    /// Opens the directory like [`open`](Self::open), but reads and changes its files with `disk`,
    /// for example with one that fails in tests.
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
    ///
    /// For `kiln`.
    #[doc(hidden)]
    pub fn path(&self) -> &Path {
        &self.0.folder
    }

    /// Returns all records, newest first, without opening the directory for submissions. Returns no
    /// records if the directory does not exist. The iterator reads each record when it returns the
    /// record, which blocks.
    ///
    /// # Errors
    ///
    /// Kind [`Journal`](ErrorKind::Journal): the directory cannot be read.
    pub fn list(path: impl AsRef<Path>) -> Result<List, Error> {
        let path = path.as_ref();
        List::new(path, Arc::new(System)).map_err(|error| unusable(path, error))
    }

    /// Returns only the records that are not closed, like [`list`](Self::list). The time that this
    /// takes does not depend on the number of closed records.
    ///
    /// # Errors
    ///
    /// The same errors as [`list`](Self::list).
    #[doc(hidden)]
    pub fn list_open(path: impl AsRef<Path>) -> Result<List, Error> {
        Self::list(path).map(List::without_closed)
    }

    /// Returns the record with this number, or `None` if there is none, without opening the
    /// directory for submissions. This method blocks.
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
        let found = List::new(path, Arc::new(System)).and_then(|list| list.record(number));
        found.map_err(|error| unusable(path, error))
    }

    /// Makes this process the owner of the open records whose owners have ended. Returns them,
    /// together with the open records that this process already owns, oldest first.
    ///
    /// # Errors
    ///
    /// Kind [`Journal`](ErrorKind::Journal): the directory cannot be read.
    #[doc(hidden)]
    pub async fn take_over(&self) -> Result<Vec<Result<Listed, Unreadable>>, Error> {
        let taken = self.run(|files| files.take_over(&|_| true)).await;
        taken.map_err(|error| unusable(self.path(), error))
    }

    /// Makes this process the owner of the open record with this number, so that no other process
    /// [takes it over](Self::take_over). Returns `false` if another running process owns the
    /// record, or if the record is closed or unreadable.
    ///
    /// # Errors
    ///
    /// Kind [`Journal`](ErrorKind::Journal): the directory cannot be read.
    #[doc(hidden)]
    pub async fn claim(&self, number: u64) -> Result<bool, Error> {
        let claimed = self.run(move |files| files.claim(number)).await;
        claimed.map_err(|error| unusable(self.path(), error))
    }

    /// Removes old closed records. The newest `keep` records stay, together with up to 1,000 older
    /// ones, because this method removes whole directories of 1,000 records. A program that relies
    /// on old records, for example to submit nothing twice, must not call this method.
    ///
    /// # Errors
    ///
    /// Kind [`Journal`](ErrorKind::Journal): a directory cannot be removed.
    pub async fn forget_closed(&self, keep: u64) -> Result<(), Error> {
        let forget = move |files: &Files| files.forget_closed(keep);
        self.run(forget).await.map_err(|error| unusable(self.path(), error))
    }

    /// Runs an action on a thread that may block. The action completes even if this future is
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
