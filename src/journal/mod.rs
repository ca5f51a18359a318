//! A durable record of submissions, so that no billed task is lost with its process.
//!
//! A client with a [`Journal`] records each submission before it connects, and its task before
//! [`submit`](crate::Client::submit) returns. After a crash,
//! [`Client::resume`](crate::Client::resume) returns the tasks whose pictures were not saved, and
//! the submissions that the service may have accepted. The client never sends those again.
//!
//! ```
//! use imagekiln::{Client, Unfinished, journal::FileJournal};
//!
//! # async fn run() -> Result<(), imagekiln::Error> {
//! let journal = FileJournal::open("tasks.jsonl")?;
//! let client = Client::builder()
//!     .journal(journal)
//!     .api_key("my key")
//!     .base_url("https://api.example.com")
//!     .build()?;
//! for unfinished in client.resume().await? {
//!     match unfinished {
//!         Unfinished::Task(task) => {
//!             let saved = task.wait().await?.save(format!("{}.jpg", task.id())).await?;
//!             println!("saved {}", saved.path.display());
//!         }
//!         Unfinished::Unknown(intent) => {
//!             println!("check the usage: {} at {:?}", intent.operation(), intent.at());
//!             client.dismiss(&intent).await?;
//!         }
//!         _ => {}
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod entry;
mod file;

use std::{error, pin::Pin, sync::Arc};

pub use self::entry::{Entry, Intent};
pub use self::file::FileJournal;
#[cfg(feature = "__fuzzing")]
pub(crate) use self::file::fuzzing;
use crate::TaskRef;

/// The return type of the methods of [`Journal`].
pub type JournalFuture<'a, T> =
    Pin<Box<dyn Future<Output = Result<T, Box<dyn error::Error + Send + Sync>>> + Send + 'a>>;

/// A store for the submissions of a client.
///
/// [`FileJournal`] is a store in a file. Implement this trait to use a database instead.
///
/// Writes must be durable when their future completes. A journal belongs to one client and its
/// clones.
pub trait Journal: Send + Sync {
    /// Records that a submission is about to be sent.
    ///
    /// If this method fails, nothing is sent. A journal can use this to refuse submissions, for
    /// example to enforce a budget.
    fn intend<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()>;

    /// Permits an attempt to send the submission. The client calls this after it has connected,
    /// just before it sends the first byte of the body, and again for each retry.
    ///
    /// If this method fails, the attempt is cancelled and nothing is billed. A journal that several
    /// processes share can use this to stop a process that was suspended since
    /// [`intend`](Self::intend). It must not block. The default permits every attempt.
    ///
    /// The operating system can still suspend the process between this call and the first byte.
    fn permit(&self, intent: &Intent) -> Result<(), Box<dyn error::Error + Send + Sync>> {
        let _ = intent;
        Ok(())
    }

    /// Records the task that the service has accepted. If this method fails, `submit` returns an
    /// error that contains the task.
    fn accept<'a>(&'a self, intent: &'a Intent, task: &'a TaskRef) -> JournalFuture<'a, ()>;

    /// Removes an intent: the submission was certainly not billed, or the program has
    /// [dismissed](crate::Client::dismiss) it.
    fn withdraw<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()>;

    /// Removes a task: its picture was saved, it failed, or the program has
    /// [settled](crate::Client::settle) it. Succeeds if the journal does not contain the task.
    fn settle<'a>(&'a self, task: &'a TaskRef) -> JournalFuture<'a, ()>;

    /// Returns all remaining entries, oldest first.
    fn entries(&self) -> JournalFuture<'_, Vec<Entry>>;
}

impl<J: Journal + ?Sized> Journal for Arc<J> {
    fn intend<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()> {
        (**self).intend(intent)
    }

    fn permit(&self, intent: &Intent) -> Result<(), Box<dyn error::Error + Send + Sync>> {
        (**self).permit(intent)
    }

    fn accept<'a>(&'a self, intent: &'a Intent, task: &'a TaskRef) -> JournalFuture<'a, ()> {
        (**self).accept(intent, task)
    }

    fn withdraw<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()> {
        (**self).withdraw(intent)
    }

    fn settle<'a>(&'a self, task: &'a TaskRef) -> JournalFuture<'a, ()> {
        (**self).settle(task)
    }

    fn entries(&self) -> JournalFuture<'_, Vec<Entry>> {
        (**self).entries()
    }
}
