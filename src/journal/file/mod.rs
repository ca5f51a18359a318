//! A journal in a file of JSON lines.

mod disk;
mod records;

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use self::{disk::Disk, records::Record};
use super::{Entry, Intent, Journal, JournalFuture};
use crate::{Error, ErrorKind, TaskRef};

/// A [`Journal`] in a file: one JSON object a line, flushed to the disk with `fsync` before it
/// counts.
///
/// - Only the user of the process can read the file (mode 0600), because polling URLs may be
///   signed. Keys, secrets and prompts are not in it.
/// - A second process that opens it gets an error: `PATH.lock` is locked as long as the journal is
///   open.
/// - If a process or the machine stops while a line is written, that line is dropped when the
///   journal is opened again.
/// - When most lines are closed, the file is written again without them, and replaced as a whole.
pub struct FileJournal {
    path: PathBuf,
    disk: Arc<Mutex<Disk>>,
}

impl FileJournal {
    /// Opens the journal at `path`, or makes an empty one. Blocks while it reads the file.
    ///
    /// # Errors
    ///
    /// Kind [`Journal`](ErrorKind::Journal): the file can't be read or written, another process has
    /// it open, or it is not a journal. Nothing is changed then.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let disk = Disk::open(path).map_err(|error| {
            let advice = match error.kind() {
                io::ErrorKind::WouldBlock => "give each process a journal of its own",
                io::ErrorKind::InvalidData => {
                    "move the file away if it is not a journal, or correct the line"
                }
                _ => "check the path and its permissions",
            };
            Error::new(ErrorKind::Journal, format!("could not open the journal {}", path.display()))
                .with_advice(advice)
                .with_source(error)
        })?;
        Ok(Self { path: path.to_owned(), disk: Arc::new(Mutex::new(disk)) })
    }

    /// Does something with the file on a thread that may block.
    fn with<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Disk) -> io::Result<T> + Send + 'static,
    ) -> JournalFuture<'static, T> {
        let disk = Arc::clone(&self.disk);
        Box::pin(async move {
            let act = move || act(&mut disk.lock().unwrap_or_else(PoisonError::into_inner));
            Ok(tokio::task::spawn_blocking(act).await??)
        })
    }
}

impl Journal for FileJournal {
    fn intend<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()> {
        let record = Record::Intent(intent.clone());
        self.with(|disk| disk.append(record))
    }

    fn accept<'a>(&'a self, intent: &'a Intent, task: &'a TaskRef) -> JournalFuture<'a, ()> {
        let record = Record::Accepted { intent: intent.id().to_owned(), task: task.clone() };
        self.with(|disk| disk.append(record))
    }

    fn withdraw<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()> {
        let record = Record::Closed { intent: intent.id().to_owned() };
        self.with(|disk| disk.append(record))
    }

    fn settle<'a>(&'a self, task: &'a TaskRef) -> JournalFuture<'a, ()> {
        let task = task.clone();
        self.with(move |disk| match disk.entries.intent_of(&task) {
            Some(intent) => {
                let intent = intent.id().to_owned();
                disk.append(Record::Closed { intent })
            }
            None => Ok(()),
        })
    }

    fn entries(&self) -> JournalFuture<'_, Vec<Entry>> {
        self.with(|disk| Ok(disk.entries.iter().cloned().collect()))
    }
}

impl fmt::Debug for FileJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileJournal").field("path", &self.path).finish_non_exhaustive()
    }
}
