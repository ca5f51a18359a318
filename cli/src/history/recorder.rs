//! The journal of a command: what it submits is in the history before it is sent.

use std::{
    error, io,
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{destination::Destination, entry::Entry, record::Record, store::Store};
use crate::output::Output;
use imagekiln::{
    TaskRef,
    journal::{self, Intent, Journal, JournalFuture},
};

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

    fn accept_now(&self, intent: &Intent, task: &TaskRef) {
        let mut records = self.records();
        if let Some(record) = records.iter_mut().find(|record| record.entry.intent == *intent) {
            record.accept(task);
        }
    }

    fn withdraw_now(&self, intent: &Intent) -> io::Result<()> {
        let mut records = self.records();
        let at = records.iter().position(|record| record.entry.intent == *intent);
        at.map_or(Ok(()), |at| records.remove(at).withdraw())
    }

    fn entries_now(&self) -> io::Result<Vec<journal::Entry>> {
        let entries = self.store.numbers()?.into_iter().rev();
        let entries = entries.filter_map(|number| self.store.read(number).ok());
        let unfinished = entries.filter(|entry| entry.end.is_none());
        Ok(unfinished
            .map(|entry| match entry.task {
                Some(task) => journal::Entry::Accepted(entry.intent, task),
                None => journal::Entry::Unknown(entry.intent),
            })
            .collect())
    }
}

impl Journal for Recorder {
    fn intend<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()> {
        done(self.intend_now(intent))
    }

    fn accept<'a>(&'a self, intent: &'a Intent, task: &'a TaskRef) -> JournalFuture<'a, ()> {
        self.accept_now(intent, task);
        done(Ok(()))
    }

    fn withdraw<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()> {
        done(self.withdraw_now(intent))
    }

    /// Does nothing: the command records the end itself, because it knows the path.
    fn settle<'a>(&'a self, _: &'a TaskRef) -> JournalFuture<'a, ()> {
        done(Ok(()))
    }

    fn entries(&self) -> JournalFuture<'_, Vec<journal::Entry>> {
        done(self.entries_now())
    }
}

/// The index of the origin of a submission.
fn index(intent: &Intent) -> Option<usize> {
    intent.label()?.parse().ok()
}

fn done<T: Send + 'static>(outcome: io::Result<T>) -> JournalFuture<'static, T> {
    let outcome = outcome.map_err(Box::<dyn error::Error + Send + Sync>::from);
    Box::pin(async { outcome })
}
