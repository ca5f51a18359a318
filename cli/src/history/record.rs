//! A submission in the history that this process works on.

use std::io;

use super::{
    destination::Destination,
    entry::{End, Entry},
    store::{Claim, Store},
};
use crate::output::Output;
use imagekiln::TaskRef;

/// A submission and its file. What can't be written is only a warning: the task is paid for, and
/// its picture matters more than the history.
pub struct Record {
    store: Store,
    output: Output,
    pub number: u64,
    pub entry: Entry,
    is_written: bool,
    claim: Option<Claim>,
}

impl Record {
    /// Adds a submission to the history.
    pub fn create(store: &Store, output: Output, entry: Entry) -> io::Result<Self> {
        let (number, claim) = store.create(&entry)?;
        let store = store.clone();
        Ok(Self { store, output, number, entry, is_written: true, claim: Some(claim) })
    }

    /// A submission of an earlier command. Without a claim, another process works on it, too.
    pub fn existing(
        store: &Store,
        output: Output,
        (number, entry): (u64, Entry),
        claim: Option<Claim>,
    ) -> Self {
        Self { store: store.clone(), output, number, entry, is_written: true, claim }
    }

    pub fn accept(&mut self, task: &TaskRef) {
        self.entry.task = Some(task.clone());
        self.write();
    }

    /// Remembers another destination of the picture.
    pub fn redirect(&mut self, destination: Destination) {
        self.entry.destination = destination;
        self.write();
    }

    pub fn end(&mut self, end: End) {
        self.entry.end(end);
        self.write();
    }

    /// Lets other commands claim the submission.
    pub fn release(&mut self) {
        self.claim = None;
    }

    /// Removes a submission that was certainly not billed.
    pub fn withdraw(self) -> io::Result<()> {
        self.store.remove(self.number)
    }

    /// Whether the history has what this process knows.
    pub fn is_written(&self) -> bool {
        self.is_written
    }

    fn write(&mut self) {
        let written = self.store.write(self.number, &self.entry);
        self.is_written = written.is_ok();
        if let Err(error) = written {
            let directory = self.store.directory().display();
            self.output.warning(&format!("could not write the history in {directory}: {error}"));
        }
    }
}
