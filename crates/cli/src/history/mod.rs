//! The history of submissions, which is the journal of kiln's clients. It keeps a killed command
//! from losing a paid picture. Several pictures of one command are recorded one by one and not as a
//! batch, so `resume` and `@3` work for each of them.

pub mod ancestry;
pub mod costs;
pub mod destination;
pub mod durations;
pub mod find;
pub mod list;
pub mod request;
mod turns;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;

#[cfg(feature = "batch")]
pub use self::destination::StoredPath;
pub use self::{
    costs::Prices,
    destination::{Destination, relative},
    find::Made,
};
use crate::{
    failure::Failure,
    files::{
        directory::{self, STATE_DIR_VARIABLE},
        target::{self, Saved, Target},
    },
    models::{PROMPT, SEED},
    output::Output,
    process::Process,
    text::one_line,
};
use imagekiln::{
    Error, TaskRef, TaskStatus,
    journal::{Directory, Journal as _, Listed, Origin, Record, State, Step, Unreadable},
};

/// The path that the history records for a picture on standard output.
const STANDARD_OUTPUT: &str = "-";

/// The directory of the history, which may not exist yet: where this platform keeps the state of
/// programs.
pub fn directory(process: &Process) -> Result<PathBuf, Failure> {
    let state = directory::state(process).ok_or_else(|| {
        Failure::settings("could not find a directory for the history: there is no home directory")
            .advise(format!("set {STATE_DIR_VARIABLE} to a directory, or pass --no-history"))
    })?;
    Ok(state.join("history"))
}

/// What a file of the history contains, or why it cannot be read.
pub type Found = Result<Entry, Unreadable>;

/// Returns the submissions, newest first. Each is read when the iterator returns it.
pub fn read(process: &Process) -> Result<impl Iterator<Item = Found>, Failure> {
    let path = directory(process)?;
    let listed = Directory::list(&path).map_err(|error| unreadable(&path, &error))?;
    Ok(listed.map(|listed| listed.map(Entry::from)).filter(was_submitted))
}

/// Returns the unfinished submissions like [`read`].
pub fn unfinished(process: &Process) -> Result<impl Iterator<Item = Found>, Failure> {
    let path = directory(process)?;
    let listed = Directory::list_open(&path).map_err(|error| unreadable(&path, &error))?;
    Ok(listed.map(|listed| listed.map(Entry::from)))
}

/// Returns the submission with a number.
pub fn numbered(process: &Process, number: u64) -> Result<Option<Entry>, Failure> {
    let path = directory(process)?;
    let found = Directory::find(&path, number).map_err(|error| unreadable(&path, &error))?;
    let found = found.map(|found| found.map(Entry::from)).filter(was_submitted);
    found.transpose().map_err(|file| damaged(&file))
}

/// Returns the error for a file that cannot be read.
pub fn damaged(file: &Unreadable) -> Failure {
    let what = format!("submission @{} is unreadable", file.number);
    let mut failure = Failure::file(what, io::Error::other(one_line(&file.reason)));
    failure.number = Some(file.number);
    failure.advise(format!(
        "it may name a paid task, so nothing changes its file: look at {}, and move it away when \
         you have decided",
        file.path.display()
    ))
}

fn was_submitted(found: &Found) -> bool {
    found.as_ref().map_or(true, |entry| *entry.record.state() != State::NotBilled)
}

/// The history, opened by a command that changes it.
#[derive(Clone)]
pub struct History {
    directory: Directory,
    output: Output,
    /// The label of the submissions of this command, which no other command has.
    command: String,
    /// The highest number in the history when this command opened it.
    before: u64,
    kept: Arc<[Kept]>,
    /// The index of the next picture to record.
    next: Arc<watch::Sender<usize>>,
}

impl History {
    /// Opens the history, or creates it. `kept` has an item for each picture that the command may
    /// submit.
    pub fn open(output: &Output, kept: Vec<Kept>) -> Result<Self, Failure> {
        let path = directory(&output.process)?;
        let directory = (output.process.journal)(&path).map_err(|error| unusable(&path, &error))?;
        let newest = Directory::list(&path).map_err(|error| unusable(&path, &error))?.next();
        let before = newest.map_or(0, |found| match found {
            Ok(listed) => listed.number,
            Err(unreadable) => unreadable.number,
        });
        let command = format!("{:016x}", fastrand::u64(..));
        let (kept, next) = (kept.into(), Arc::default());
        Ok(Self { directory, output: output.clone(), command, before, kept, next })
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the part of the command line to keep for a picture.
    pub fn origin(&self, index: usize) -> Origin {
        let origin = Origin::new(&self.command);
        let Some(kept) = self.kept.get(index) else { return origin };
        kept.destination.output().into_iter().fold(origin, Origin::target).context(kept)
    }

    /// Returns the last submission of this command for a picture.
    pub fn submission(&self, index: usize) -> Option<Entry> {
        let listed = Directory::list(self.path()).ok()?.flatten().map(Entry::from);
        let mut own = listed
            .take_while(|entry| entry.number > self.before)
            .filter(|entry| entry.group() == Some(&self.command));
        own.find(|entry| entry.kept.index == index && entry.record.state() != &State::NotBilled)
    }

    /// Returns the same history, for pictures other than those of the command.
    pub fn of_pictures(&self, kept: Vec<Kept>) -> Self {
        let command = format!("{:016x}", fastrand::u64(..));
        Self { command, kept: kept.into(), ..self.clone() }
    }

    /// Claims a submission for this command, unless another command is working on it. Returns
    /// whether this command has the claim. A command that continues without it may save the picture
    /// a second time.
    pub async fn claim(&self, entry: &Entry) -> Result<bool, Failure> {
        let claimed = self.directory.claim(entry.number).await;
        claimed.map_err(|error| unusable(self.path(), &error))
    }

    /// Continues the submissions of commands that have ended. Returns those of `wanted` that are
    /// unfinished, and the numbers of those that another process has taken in the meantime.
    pub async fn take_over(&self, wanted: Vec<Entry>) -> Result<(Vec<Entry>, Vec<u64>), Failure> {
        let own = self.directory.take_over().await;
        let own = own.map_err(|error| unusable(self.path(), &error))?;
        let own: Vec<u64> = own.into_iter().flatten().map(|listed| listed.number).collect();
        let (mut unfinished, mut others) = (Vec::new(), Vec::new());
        for wanted in wanted {
            match numbered(&self.output.process, wanted.number)? {
                Some(entry) if entry.is_finished() => {}
                Some(entry) if own.contains(&entry.number) => unfinished.push(entry),
                _ => others.push(wanted.number),
            }
        }
        Ok((unfinished, others))
    }

    /// Records that a picture is saved. If this fails, the submission stays unfinished, and a later
    /// command saves the picture again, which costs nothing.
    pub async fn saved(&self, task: &TaskRef, saved: &Saved) {
        let path = match &saved.path {
            Some(path) => self.output.process.directory.join(path),
            None => STANDARD_OUTPUT.into(),
        };
        let (bytes, sha256) = (saved.bytes, saved.sha256.clone());
        self.ended(task, Step::Saved { path, bytes, sha256 }).await;
    }

    /// Records how a task ended for this command.
    pub async fn ended(&self, task: &TaskRef, step: Step) {
        let Some(submission) = task.submission() else { return };
        // The command that submitted the task may have failed to record it.
        let accepted = Step::Accepted(task.clone());
        for step in [accepted, step] {
            if let Err(error) = self.directory.advance(submission, &step).await {
                let text = format!("could not write the history in {}", self.path().display());
                return self.output.warning(&format!("{text}: {error}"));
            }
        }
    }

    /// Records that the user wants nothing more from a submission.
    pub async fn dismiss(&self, entry: &Entry) -> Result<(), Failure> {
        let dismissed = self.directory.advance(entry.submission(), &Step::Settled).await;
        dismissed.map_err(|error| {
            let what = format!("could not dismiss submission @{}", entry.number);
            Failure::file(what, io::Error::other(error.to_string()))
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

/// The part of the command line that the history keeps for a picture.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Kept {
    /// The request; see [`request::kept`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Value>,
    /// The prompt, if the request could not be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    pub destination: Destination,
    /// The profile of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The index of the picture among those of the command.
    #[serde(default)]
    pub index: usize,
    /// The numbers of the submissions whose pictures are images of this request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made_from: Vec<u64>,
    /// The number of the submission that this one repeats, with or without changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again_of: Option<u64>,
}

#[derive(Debug, Clone)]
pub struct Entry {
    pub number: u64,
    pub record: Record,
    pub kept: Kept,
    /// Whether a process is working on the submission.
    pub is_in_use: bool,
    /// Where a person found the picture, if it was moved or copied.
    pub found_at: Option<PathBuf>,
}

impl From<Listed> for Entry {
    fn from(listed: Listed) -> Self {
        Self::new(listed.number, listed.record, listed.is_in_use)
    }
}

impl Entry {
    pub fn new(number: u64, record: Record, is_in_use: bool) -> Self {
        let kept = record.intent().context().unwrap_or_default();
        // A person can decide about a lost response, even while the process that lost it is still
        // running.
        let is_in_use = is_in_use && !record.is_lost();
        Self { number, record, kept, is_in_use, found_at: None }
    }

    pub fn submission(&self) -> &str {
        self.record.intent().id()
    }

    /// When the request was sent.
    pub fn at(&self) -> SystemTime {
        self.record.intent().at()
    }

    /// The cost in credits, if the service said it.
    pub fn cost(&self) -> Option<f64> {
        self.record.task().and_then(TaskRef::cost)
    }

    /// The value of a field of the request, if the history has it.
    fn field(&self, name: &str) -> Option<&Value> {
        request::field(self.kept.request.as_ref()?, name)
    }

    pub fn prompt(&self) -> Option<&str> {
        self.field(PROMPT).and_then(Value::as_str).or(self.kept.prompt.as_deref())
    }

    pub fn seed(&self) -> Option<i64> {
        self.field(SEED)?.as_i64()
    }

    pub fn model(&self) -> String {
        let model = self.kept.request.as_ref().and_then(request::model);
        model.unwrap_or_else(|| self.record.intent().operation().to_owned())
    }

    /// The label that the submissions of one command share.
    pub fn group(&self) -> Option<&str> {
        self.record.intent().label()
    }

    /// Returns the numbers of the submissions whose pictures this one was made from, or which it
    /// repeats.
    pub fn sources(&self) -> Vec<u64> {
        self.kept.made_from.iter().copied().chain(self.kept.again_of).collect()
    }

    /// The target of the picture for a command in the directory `here`.
    pub fn target(&self, here: &Path) -> Target {
        let target = self.kept.destination.target(here);
        Target { title: self.prompt().and_then(target::title), ..target }
    }

    pub fn is_finished(&self) -> bool {
        self.record.state().is_closed()
    }

    /// The path of the picture, if it was saved to a file.
    pub fn saved_path(&self) -> Option<&Path> {
        match self.record.state() {
            State::Saved { .. } if self.found_at.is_some() => self.found_at.as_deref(),
            State::Saved { path, .. } if path != Path::new(STANDARD_OUTPUT) => Some(path),
            _ => None,
        }
    }

    pub fn state(&self) -> &'static str {
        use TaskStatus::{ContentModerated, RequestModerated};
        match (self.record.state(), self.is_in_use) {
            (State::Unknown, true) => "submitting",
            (State::Unknown, false) => "unknown",
            (State::Accepted | State::Ready, true) => "waiting",
            (State::Ready, false) if self.record.damaged().is_some() => "damaged",
            (State::Accepted | State::Ready, false) => "unfinished",
            (State::Saved { .. }, _) if self.is_deleted() => "deleted",
            (State::Saved { .. }, _) => "saved",
            (State::Failed(RequestModerated | ContentModerated), _) => "moderated",
            (State::Failed(_), _) => "failed",
            (State::Expired, _) => "expired",
            (State::Settled, _) => "dismissed",
            _ => "ended",
        }
    }
}
