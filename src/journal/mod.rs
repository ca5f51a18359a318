//! A durable record of what was submitted, so that no paid task is lost with the process that
//! submitted it.
//!
//! A client with a [`Journal`] writes down each submission before it connects, and its task before
//! [`submit`](crate::Client::submit) returns. After a crash,
//! [`Client::resume`](crate::Client::resume) returns the tasks whose pictures were not saved yet,
//! and the submissions of which it is unknown whether they were accepted. Those are never sent
//! again.
//!
//! ```
//! use imagekiln::{Client, Unfinished, journal::FileJournal};
//!
//! # async fn run() -> Result<(), imagekiln::Error> {
//! let journal = FileJournal::open("tasks.jsonl")?;
//! let client = Client::builder().journal(journal).api_key("my key").base_url("https://api.example.com").build()?;
//! for unfinished in client.resume().await? {
//!     match unfinished {
//!         Unfinished::Task(task) => {
//!             let saved = task.wait().await?.save(format!("{}.jpg", task.id())).await?;
//!             println!("saved {}", saved.path.display());
//!         }
//!         Unfinished::Unknown(intent) => {
//!             println!("check the service's usage: {} at {:?}", intent.operation(), intent.at());
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

pub use entry::{Entry, Intent};
pub use file::FileJournal;

use crate::TaskRef;

/// What the methods of a [`Journal`] return.
pub type JournalFuture<'a, T> =
    Pin<Box<dyn Future<Output = Result<T, Box<dyn error::Error + Send + Sync>>> + Send + 'a>>;

/// Where a client keeps what it submitted. [`FileJournal`] keeps it in a file; a database can be
/// put behind this as well.
///
/// What a method has written must be durable when its future is ready. One journal belongs to one
/// client and its clones.
pub trait Journal: Send + Sync {
    /// Writes down that a submission is about to be sent. If this fails nothing is sent, so a
    /// journal can refuse a submission, for instance because a budget is used up.
    fn intend<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()>;

    /// Writes down the task that the service has accepted. If this fails `submit` returns an error
    /// that carries the task.
    fn accept<'a>(&'a self, intent: &'a Intent, task: &'a TaskRef) -> JournalFuture<'a, ()>;

    /// Forgets an intent: the submission was certainly not billed, or the program has
    /// [dismissed](crate::Client::dismiss) it.
    fn withdraw<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()>;

    /// Forgets a task: its picture was saved, it failed, or the program has
    /// [settled](crate::Client::settle) it. A task that the journal does not know is not an error.
    fn settle<'a>(&'a self, task: &'a TaskRef) -> JournalFuture<'a, ()>;

    /// All that was not forgotten, the oldest first.
    fn entries(&self) -> JournalFuture<'_, Vec<Entry>>;
}

impl<J: Journal + ?Sized> Journal for Arc<J> {
    fn intend<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()> {
        (**self).intend(intent)
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
