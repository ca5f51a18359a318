//! The history of submissions, which is the journal of kiln's clients. With it, a killed command
//! loses no paid picture.

mod entry;
pub mod find;
pub mod list;
pub mod request;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

pub use self::entry::{Destination, Entry, Kept};
use crate::{
    failure::Failure,
    files::{
        directory::{self, STATE_DIR_VARIABLE},
        target::Saved,
    },
    output::Output,
    process::Process,
};
use imagekiln::{
    Error, TaskRef,
    journal::{Directory, Journal as _, Origin, State, Step},
};

/// The number of finished submissions that are kept.
const MAX_FINISHED: usize = 1_000;

/// The directory of the history, which may not exist yet: where this platform keeps the state of
/// programs.
pub fn directory(process: &Process) -> Result<PathBuf, Failure> {
    let state = directory::state(process).ok_or_else(|| {
        Failure::settings("could not find a directory for the history: there is no home directory")
            .advise(format!("set {STATE_DIR_VARIABLE} to a directory, or pass --no-history"))
    })?;
    Ok(state.join("history"))
}

/// Returns all submissions, newest first. Writes nothing.
pub fn read(process: &Process) -> Result<Vec<Entry>, Failure> {
    let directory = directory(process)?;
    let listed = Directory::list(&directory).map_err(|error| unreadable(&directory, &error))?;
    let mut entries: Vec<Entry> = listed.into_iter().map(Entry::from).collect();
    entries.retain(|entry| *entry.record.state() != State::NotBilled);
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.number));
    Ok(entries)
}

/// The history, opened by a command that changes it.
#[derive(Clone)]
pub struct History {
    directory: Directory,
    output: Output,
    /// The label of the submissions of this command, which no other command has.
    command: String,
    kept: Arc<[Kept]>,
}

impl History {
    /// Opens the history, or creates it. `kept` has an item for each picture that the command may
    /// submit.
    pub fn open(output: &Output, kept: Vec<Kept>) -> Result<Self, Failure> {
        let path = directory(&output.process)?;
        let directory = (output.process.journal)(&path, MAX_FINISHED);
        let directory = directory.map_err(|error| unusable(&path, &error))?;
        let command = format!("{:016x}", fastrand::u64(..));
        Ok(Self { directory, output: output.clone(), command, kept: kept.into() })
    }

    /// Returns the journal of the client.
    pub fn journal(&self) -> Directory {
        self.directory.clone()
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the part of the command line to keep for a picture.
    pub fn origin(&self, index: usize) -> Origin {
        let origin = Origin::new(&self.command);
        let Some(kept) = self.kept.get(index) else { return origin };
        let origin = match kept.destination.output() {
            Some(path) => origin.target(path),
            None => origin,
        };
        origin.context(kept)
    }

    /// Returns the last submission of this command for a picture.
    pub fn submission(&self, index: usize) -> Option<Entry> {
        let listed = Directory::list(self.path()).ok()?.into_iter().map(Entry::from);
        let mut own =
            listed.filter(|entry| entry.record.intent().label() == Some(self.command.as_str()));
        own.find(|entry| entry.kept.index == index)
    }

    /// Makes sure that this command can change a submission, even if another process has it.
    pub async fn include(&self, entry: &Entry) -> Result<(), Failure> {
        let records = vec![(entry.number, entry.record.clone())];
        self.directory.include(records).await.map_err(|error| unusable(self.path(), &error))
    }

    /// Continues the submissions of commands that have ended. Returns those of `wanted` that are
    /// unfinished, and the numbers of those that another process has in the meantime.
    pub async fn take_over(&self, wanted: Vec<Entry>) -> Result<(Vec<Entry>, Vec<u64>), Failure> {
        let records = self.directory.records().await;
        let records = records.map_err(|error| unusable(self.path(), &error))?;
        let own: Vec<Entry> = records.into_iter().map(Entry::from).collect();
        let (mut unfinished, mut others) = (Vec::new(), Vec::new());
        for wanted in wanted {
            match own.iter().find(|own| own.submission() == wanted.submission()) {
                Some(own) if own.is_finished() => {}
                Some(own) => unfinished.push(own.clone()),
                None => others.push(wanted.number),
            }
        }
        Ok((unfinished, others))
    }

    /// Records a picture that is saved. If that fails, the submission stays unfinished, and costs
    /// nothing more when it is saved again.
    pub async fn saved(&self, task: &TaskRef, saved: &Saved) {
        let Some(submission) = task.submission() else { return };
        let path = match &saved.path {
            Some(path) => self.output.process.directory.join(path),
            None => entry::STANDARD_OUTPUT.into(),
        };
        // The command that submitted the task may have failed to record it.
        let accepted = Step::Accepted(task.clone());
        let step = Step::Saved { path, bytes: saved.bytes, sha256: saved.sha256.clone() };
        for step in [accepted, step] {
            if let Err(error) = self.directory.advance(submission, &step).await {
                let directory = self.path().display();
                self.output
                    .warning(&format!("could not write the history in {directory}: {error}"));
                return;
            }
        }
    }

    /// Records that the user needs nothing more.
    pub async fn dismiss(&self, entry: &Entry) -> Result<(), Failure> {
        let dismissed = self.directory.advance(entry.submission(), &Step::Settled).await;
        dismissed.map_err(|error| {
            let what = format!("could not dismiss submission @{}", entry.number);
            Failure::file(what, std::io::Error::other(error.to_string()))
        })
    }
}

fn unreadable(directory: &Path, error: &Error) -> Failure {
    let mut failure = Failure::from(error);
    failure.message = format!("could not read the history in {}", directory.display());
    failure.advise(format!("check the directory, or set {STATE_DIR_VARIABLE} to another one"))
}

fn unusable(directory: &Path, error: &Error) -> Failure {
    let mut failure = Failure::from(error);
    failure.message = format!("could not write the history in {}", directory.display());
    failure.advise(format!(
        "nothing was sent; set {STATE_DIR_VARIABLE} to another directory, or pass --no-history"
    ))
}
