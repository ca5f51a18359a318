//! The journal of a command: what it submits is in the history before it is sent.

use std::{
    io,
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{destination::Destination, entry::Entry, record::Record, store::Store};
use crate::output::Output;
use imagekiln::journal::{self, Intent, Journal, JournalFuture, Step};

/// Adds the submissions of a command to the history.
///
/// The writes are small and block the runtime only for a moment: a command does nothing else while
/// it waits for them.
pub struct Recorder {
    store: Store,
    output: Output,
    /// By the labels of the submissions.
    origins: Vec<Origin>,
    records: Mutex<Vec<Record>>,
}

/// What the history keeps of the command line for a picture.
pub struct Origin {
    pub prompt: Option<String>,
    pub destination: Destination,
}

impl Recorder {
    /// The label of a submission is the index of its origin.
    pub fn new(store: Store, output: Output, origins: Vec<Origin>) -> Self {
        Self { store, output, origins, records: Mutex::default() }
    }

    pub fn directory(&self) -> &Path {
        self.store.directory()
    }

    /// The record of the submission with this label.
    pub fn take(&self, label: usize) -> Option<Record> {
        let mut records = self.records();
        let at = records.iter().position(|record| index(&record.entry.intent) == Some(label))?;
        Some(records.remove(at))
    }

    fn records(&self) -> MutexGuard<'_, Vec<Record>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn intend_now(&self, intent: &Intent) -> io::Result<()> {
        let origin = index(intent).and_then(|index| self.origins.get(index));
        let Origin { prompt, destination } =
            origin.ok_or_else(|| io::Error::other("the submission has no label"))?;
        let entry = Entry::new(intent.clone(), prompt.as_deref(), destination.clone());
        let record = Record::create(&self.store, self.output, entry)?;
        self.records().push(record);
        Ok(())
    }

    /// The command records how a task ends itself, because it knows the path.
    fn advance_now(&self, submission: &str, step: &Step) -> io::Result<()> {
        let mut records = self.records();
        let at = records.iter().position(|record| record.entry.intent.id() == submission);
        let Some(at) = at else { return Ok(()) };
        match step {
            Step::NotBilled => records.remove(at).withdraw()?,
            Step::Accepted(task) => {
                if let Some(record) = records.get_mut(at) {
                    record.accept(task);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Journal for Recorder {
    fn intend<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()> {
        done(self.intend_now(intent))
    }

    fn advance<'a>(&'a self, submission: &'a str, step: &'a Step) -> JournalFuture<'a, ()> {
        done(self.advance_now(submission, step))
    }

    /// No command asks for them: the history lists them with their numbers.
    fn open_records(&self) -> JournalFuture<'_, Vec<journal::Record>> {
        done(Ok(Vec::new()))
    }
}

/// The index of the origin of a submission.
fn index(intent: &Intent) -> Option<usize> {
    intent.label()?.parse().ok()
}

fn done<T: Send + 'static>(outcome: io::Result<T>) -> JournalFuture<'static, T> {
    Box::pin(async { Ok(outcome?) })
}
