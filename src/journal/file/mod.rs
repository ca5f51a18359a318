//! A journal in a file of JSON lines.

mod disk;
#[cfg(feature = "__fuzzing")]
pub(crate) mod fuzzing;
mod records;

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use self::{disk::Disk, records::Record};
use super::{Entry, Intent, Journal, JournalFuture};
use crate::{Error, ErrorKind, TaskRef};

/// A [`Journal`] in a file with one JSON object per line. Every line is flushed to disk with
/// `fsync`.
///
/// - Only the user of the process can read the file (mode 0600), because polling URLs may be
///   signed. The file contains no keys, secrets or prompts.
/// - Only one process can open the journal. The file `PATH.lock` is locked while it is open.
/// - If the process or the machine stops while a line is written, the incomplete line is dropped
///   when the journal is next opened.
/// - When most entries are closed, the file is replaced atomically by a copy without them.
pub struct FileJournal {
    path: PathBuf,
    disk: Arc<Mutex<Disk>>,
}

impl FileJournal {
    /// Opens the journal at `path`, or creates an empty one. Blocks while it reads the file.
    ///
    /// # Errors
    ///
    /// Kind [`Journal`](ErrorKind::Journal): the file cannot be read or written, another process
    /// has opened it, or it is not a journal. The file is not changed.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let disk = Disk::open(path).map_err(|error| {
            let advice = match error.kind() {
                io::ErrorKind::WouldBlock => "give each process its own journal",
                io::ErrorKind::InvalidData => {
                    "move the file if it is not a journal, or correct the line"
                }
                _ => "check the path and its permissions",
            };
            Error::new(ErrorKind::Journal, format!("could not open the journal {}", path.display()))
                .with_advice(advice)
                .with_source(error)
        })?;
        Ok(Self { path: path.to_owned(), disk: Arc::new(Mutex::new(disk)) })
    }

    /// Accesses the file on a thread that may block.
    fn run<T: Send + 'static>(
        &self,
        action: impl FnOnce(&mut Disk) -> io::Result<T> + Send + 'static,
    ) -> JournalFuture<'static, T> {
        let disk = Arc::clone(&self.disk);
        Box::pin(async move {
            let action = move || action(&mut disk.lock().unwrap_or_else(PoisonError::into_inner));
            Ok(tokio::task::spawn_blocking(action).await??)
        })
    }
}

impl Journal for FileJournal {
    fn intend<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()> {
        let record = Record::Intent(intent.clone());
        self.run(|disk| disk.append(record))
    }

    fn accept<'a>(&'a self, intent: &'a Intent, task: &'a TaskRef) -> JournalFuture<'a, ()> {
        let record = Record::Accepted { intent: intent.id().to_owned(), task: task.clone() };
        self.run(|disk| disk.append(record))
    }

    fn withdraw<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()> {
        let record = Record::Closed { intent: intent.id().to_owned() };
        self.run(|disk| disk.append(record))
    }

    fn settle<'a>(&'a self, task: &'a TaskRef) -> JournalFuture<'a, ()> {
        let task = task.clone();
        self.run(move |disk| match disk.entries.intent_of(&task) {
            Some(intent) => {
                let intent = intent.id().to_owned();
                disk.append(Record::Closed { intent })
            }
            None => Ok(()),
        })
    }

    fn entries(&self) -> JournalFuture<'_, Vec<Entry>> {
        self.run(|disk| Ok(disk.entries.iter().cloned().collect()))
    }
}

impl fmt::Debug for FileJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileJournal").field("path", &self.path).finish_non_exhaustive()
    }
}
