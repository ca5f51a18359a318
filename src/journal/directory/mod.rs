//! A journal in a directory, for several processes at once.

mod file;
mod files;
mod log;

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{
    sync::oneshot,
    task::{spawn_blocking, yield_now},
};

pub(crate) use self::files::is_at;
pub use self::{files::Disk, log::Listed};
use self::{
    files::System,
    log::{Change, Log},
};
use super::{Intent, Journal, JournalFuture, Record, Step};
use crate::{Error, ErrorKind};

/// A [`Journal`] in a directory of files with one JSON object per line.
///
/// - Several processes can use the directory at the same time. Each has a log and a lock of its
///   own, and continues the records of processes that have ended.
/// - Every write is flushed to disk. Writes that wait at the same time share one flush.
/// - Before a submission is sent, the space for its task is written to disk, so a disk that fills
///   up afterwards loses nothing. Copy-on-write file systems such as Btrfs and ZFS do not keep
///   written space: leave some space free there.
/// - Only the user of the process can read the files (mode 0600), because polling URLs may be
///   signed. They contain no keys, secrets or prompts, unless the program puts them into a
///   [`Origin`](super::Origin).
/// - Records that are not closed are never removed.
///
/// The file system must support file locks.
#[derive(Clone)]
pub struct Directory(Arc<Inner>);

struct Inner {
    path: PathBuf,
    /// What waits for the log. Whoever adds the first change writes all of it.
    queue: Mutex<Vec<(Change, Waiting)>>,
    /// Whoever has it writes next.
    turn: tokio::sync::Mutex<()>,
    log: Mutex<Log>,
}

/// Who waits for a change to be written.
type Waiting = oneshot::Sender<io::Result<()>>;

impl Directory {
    /// Opens the directory at `path`, or creates it. Blocks while it reads the files.
    ///
    /// Closed records are not kept; see [`open_keeping`](Self::open_keeping).
    ///
    /// # Errors
    ///
    /// Kind [`Journal`](ErrorKind::Journal): the directory cannot be created, read or written, or
    /// its file system has no locks.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_keeping(path, 0)
    }

    /// Opens the directory like [`open`](Self::open), and keeps the newest `closed` records that
    /// are closed.
    ///
    /// # Errors
    ///
    /// The same errors as [`open`](Self::open).
    pub fn open_keeping(path: impl AsRef<Path>, closed: usize) -> Result<Self, Error> {
        Self::open_on(path, closed, Arc::new(System))
    }

    /// Opens the directory like [`open_keeping`](Self::open_keeping), and changes its files with
    /// the operations of `disk`.
    ///
    /// # Errors
    ///
    /// The same errors as [`open`](Self::open).
    pub fn open_on(
        path: impl AsRef<Path>,
        closed: usize,
        disk: Arc<dyn Disk>,
    ) -> Result<Self, Error> {
        let path = path.as_ref();
        let log = Log::open(path, closed, disk).map_err(|error| unusable(path, error))?;
        let (queue, turn, log) = (Mutex::default(), Default::default(), Mutex::new(log));
        Ok(Self(Arc::new(Inner { path: path.to_owned(), queue, turn, log })))
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Returns all records, newest first, without opening the directory. Empty if it does not
    /// exist. Blocks while it reads the files.
    ///
    /// # Errors
    ///
    /// Kind [`Journal`](ErrorKind::Journal): the directory cannot be read.
    pub fn list(path: impl AsRef<Path>) -> Result<Vec<Listed>, Error> {
        let path = path.as_ref();
        log::list(path).map_err(|error| unusable(path, error))
    }

    /// Returns the records of this process, newest first: those that it wrote, and those of
    /// processes that have ended.
    ///
    /// # Errors
    ///
    /// Kind [`Journal`](ErrorKind::Journal): the directory cannot be read or written.
    pub async fn records(&self) -> Result<Vec<Listed>, Error> {
        let records = self.run(|log| {
            log.take_over()?;
            let listed = |(number, record): (&u64, &Record)| Listed {
                number: *number,
                record: record.clone(),
                is_in_use: true,
            };
            Ok(log.records().rev().map(listed).collect())
        });
        records.await.map_err(|error| unusable(self.path(), error))
    }

    /// Adds records of another store, or of another process that has the directory open, so that
    /// this process can change them. Submissions that follow get larger numbers.
    ///
    /// # Errors
    ///
    /// Kind [`Journal`](ErrorKind::Journal): the directory cannot be written.
    pub async fn include(&self, records: Vec<(u64, Record)>) -> Result<(), Error> {
        self.run(|log| log.include(records)).await.map_err(|error| unusable(self.path(), error))
    }

    /// Writes a change, together with those that other tasks are waiting for.
    async fn write(&self, change: Change) -> io::Result<()> {
        let (sender, written) = oneshot::channel();
        let is_first = {
            let mut queue = locked(&self.0.queue);
            queue.push((change, sender));
            queue.len() == 1
        };
        if is_first {
            // It completes even if this future is dropped.
            tokio::spawn(flush(Waiters(Some(Arc::clone(&self.0)))));
        }
        written.await.map_err(|_| io::Error::other("the change was not written"))?
    }

    /// Accesses the log on a thread that may block.
    async fn run<T: Send + 'static>(
        &self,
        action: impl FnOnce(&mut Log) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let inner = Arc::clone(&self.0);
        let action = move || action(&mut locked(&inner.log));
        spawn_blocking(action).await?
    }
}

/// Writes what is in the queue when it is its turn.
async fn flush(waiters: Waiters) {
    let Some(inner) = waiters.0.clone() else { return };
    let _turn = inner.turn.lock().await;
    gather(&inner.queue).await;
    let (changes, senders): (Vec<_>, Vec<_>) = waiters.take().into_iter().unzip();
    let log = Arc::clone(&inner);
    let writing = spawn_blocking(move || locked(&log.log).write(changes));
    // A task of the runtime wakes the others, because a thread that wakes them would wake the
    // runtime once for each.
    for (sender, written) in senders.into_iter().zip(writing.await.unwrap_or_default()) {
        // Its task may have ended.
        let _ = sender.send(written);
    }
}

/// Lets the runtime run what is ready, until that adds no more changes: a flush costs the same for
/// one as for many.
async fn gather(queue: &Mutex<Vec<(Change, Waiting)>>) {
    /// A response passes through several tasks before its change is in the queue.
    const TASKS: usize = 4;
    let mut before = 0;
    while before < locked(queue).len() {
        before = locked(queue).len();
        for _ in 0..TASKS {
            yield_now().await;
        }
    }
}

/// Those who wait in the queue. If the runtime ends before they are taken, they are given up:
/// nobody else would write their changes.
struct Waiters(Option<Arc<Inner>>);

impl Waiters {
    fn take(mut self) -> Vec<(Change, Waiting)> {
        self.0.take().map(|inner| std::mem::take(&mut *locked(&inner.queue))).unwrap_or_default()
    }
}

impl Drop for Waiters {
    fn drop(&mut self) {
        if let Some(inner) = self.0.take() {
            locked(&inner.queue).clear();
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unusable(path: &Path, error: io::Error) -> Error {
    let advice = match error.kind() {
        io::ErrorKind::Unsupported => "use a directory on a file system with file locks",
        _ => "check the path and its permissions",
    };
    Error::new(ErrorKind::Journal, format!("could not use the journal {}", path.display()))
        .with_advice(advice)
        .with_source(error)
}

impl Journal for Directory {
    fn intend<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()> {
        Box::pin(async { Ok(self.write(Change::Intend(intent.clone())).await?) })
    }

    fn advance<'a>(&'a self, submission: &'a str, step: &'a Step) -> JournalFuture<'a, ()> {
        let change = Change::Advance(submission.to_owned(), step.clone());
        Box::pin(async { Ok(self.write(change).await?) })
    }

    fn open_records(&self) -> JournalFuture<'_, Vec<Record>> {
        Box::pin(async {
            let open = self.run(|log| {
                log.take_over()?;
                let records = log.records().map(|(_, record)| record);
                Ok(records.filter(|record| !record.state().is_closed()).cloned().collect())
            });
            Ok(open.await?)
        })
    }
}

impl fmt::Debug for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Directory").field("path", &self.0.path).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        sync::atomic::{AtomicU32, Ordering},
        time::UNIX_EPOCH,
    };

    use super::*;
    use crate::journal::Origin;

    #[derive(Default)]
    struct Counting {
        flushes: AtomicU32,
    }

    impl Disk for Counting {
        fn sync(&self, _: &File, _: &Path) -> io::Result<()> {
            self.flushes.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    }

    #[tokio::test]
    async fn submissions_of_a_moment_share_their_flushes() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Arc::new(Counting::default());
        let journal = Directory::open_on(folder.path(), 0, Arc::clone(&disk) as _).unwrap();
        let before = disk.flushes.load(Ordering::Relaxed);
        let submissions = (0..64).map(|number| {
            let journal = journal.clone();
            tokio::spawn(async move {
                for _ in 0..3 * (number % 2) {
                    yield_now().await;
                }
                let intent = Intent::new("gen-2-pro", UNIX_EPOCH, Origin::default());
                journal.intend(&intent).await.unwrap();
            })
        });
        for submission in submissions.collect::<Vec<_>>() {
            submission.await.unwrap();
        }
        let flushes = disk.flushes.load(Ordering::Relaxed) - before;
        assert_eq!(flushes, 2, "one for the space of the acceptances, and one for the records");
    }
}
