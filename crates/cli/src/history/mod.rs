//! The history of submissions, which is the journal of kiln's clients. With it, a killed command
//! loses no paid picture. Several pictures of one command are not a batch, so `resume` and `@3`
//! work as for one.

pub mod durations;
pub mod find;
pub mod list;
pub mod prices;
pub mod request;

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    failure::Failure,
    files::{
        directory::{self, STATE_DIR_VARIABLE},
        target::{Pattern, Place, Saved, Target, ends_with_separator},
    },
    models::{PROMPT, SEED},
    output::Output,
    process::Process,
    text::sanitize::one_line,
};
use imagekiln::{
    Error, TaskRef, TaskStatus,
    journal::{Directory, Journal as _, Listed, Origin, Record, State, Step, Unreadable},
};
use imagekiln_label::Template;

/// The path of pictures that went to standard output.
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

/// The report about a file that cannot be read.
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
    /// The highest number that another command has given.
    before: u64,
    kept: Arc<[Kept]>,
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
        Ok(Self { directory, output: output.clone(), command, before, kept: kept.into() })
    }

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
        let listed = Directory::list(self.path()).ok()?.flatten().map(Entry::from);
        let mut own = listed
            .take_while(|entry| entry.number > self.before)
            .filter(|entry| entry.record.intent().label() == Some(self.command.as_str()));
        own.find(|entry| entry.kept.index == index && entry.record.state() != &State::NotBilled)
    }

    /// Leaves a submission to this command, unless another one works on it: both may then save its
    /// picture.
    pub async fn claim(&self, entry: &Entry) -> Result<(), Failure> {
        let claimed = self.directory.claim(entry.number).await;
        claimed.map(drop).map_err(|error| unusable(self.path(), &error))
    }

    /// Continues the submissions of commands that have ended. Returns those of `wanted` that are
    /// unfinished, and the numbers of those that another process has in the meantime.
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

    /// Records a picture that is saved. If that fails, the submission stays unfinished, and costs
    /// nothing more when it is saved again.
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

    /// Records that the user needs nothing more.
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
}

#[derive(Debug, Clone)]
pub struct Entry {
    pub number: u64,
    pub record: Record,
    pub kept: Kept,
    /// Whether a process works on it.
    pub is_in_use: bool,
}

impl From<Listed> for Entry {
    fn from(listed: Listed) -> Self {
        Self::new(listed.number, listed.record, listed.is_in_use)
    }
}

impl Entry {
    pub fn new(number: u64, record: Record, is_in_use: bool) -> Self {
        let kept = record.intent().context().unwrap_or_default();
        Self { number, record, kept, is_in_use }
    }

    pub fn submission(&self) -> &str {
        self.record.intent().id()
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

    pub fn is_finished(&self) -> bool {
        self.record.state().is_closed()
    }

    /// The path of the picture, if it was saved to a file.
    pub fn saved_path(&self) -> Option<&Path> {
        match self.record.state() {
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
            (State::Saved { .. }, _) => "saved",
            (State::Failed(RequestModerated | ContentModerated), _) => "moderated",
            (State::Failed(_), _) => "failed",
            (State::Expired, _) => "expired",
            (State::Settled, _) => "dismissed",
            _ => "ended",
        }
    }
}

/// A path. Not every path is valid Unicode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum StoredPath {
    Text(String),
    Raw(OsString),
}

impl From<&Path> for StoredPath {
    fn from(path: &Path) -> Self {
        match path.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Raw(path.as_os_str().to_owned()),
        }
    }
}

impl Default for StoredPath {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl StoredPath {
    pub fn path(&self) -> &Path {
        match self {
            Self::Text(text) => Path::new(text),
            Self::Raw(raw) => Path::new(raw),
        }
    }
}

/// The options of a command that decide the target of its picture, in a form that works in another
/// working directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Destination {
    /// The working directory of the command.
    directory: StoredPath,
    /// The absolute path of `--output`. `None` without one, and for standard output, devices and
    /// pipes, which a later command can't write to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<StoredPath>,
    /// The name below `output`, if it has fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    template: Option<String>,
    #[serde(default)]
    overwrite: bool,
    #[serde(default)]
    mkdir: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    describe: bool,
}

impl Destination {
    /// The destination of a command in a working directory. Without one, relative paths stay
    /// relative.
    pub fn of(target: &Target, directory: &Path) -> Self {
        let (path, template) = match &target.place {
            Place::File(path) => (Some(path.clone()), None),
            Place::Named(path) if path.as_os_str().is_empty() => (None, None),
            // The separator at the end marks a directory, even if it disappears.
            Place::Named(path) => (Some(path.join("")), None),
            Place::Pattern(pattern) => (Some(pattern.directory.clone()), Some(&pattern.template)),
            Place::Special(_) | Place::Stdout => (None, None),
        };
        Self {
            output: path.map(|path| directory.join(path).as_path().into()),
            directory: directory.into(),
            template: template.map(Template::to_string),
            overwrite: target.overwrite,
            mkdir: target.mkdir,
            describe: target.describe,
        }
    }

    /// Whether a later command saves the picture where this target does.
    pub fn is_for(&self, target: &Target, directory: &Path) -> bool {
        let other = Self::of(target, directory);
        let options = |one: &Self| (one.overwrite, one.mkdir, one.describe);
        // Paths are the same with and without a separator at the end.
        self.output().is_some_and(|output| Some(output) == other.output())
            && options(self) == options(&other)
    }

    /// The absolute path of `--output`, if a later command can save the picture there. It may have
    /// fields.
    pub fn output(&self) -> Option<PathBuf> {
        let path = self.output.as_ref()?.path();
        Some(self.template.as_ref().map_or(path.to_owned(), |template| path.join(template)))
    }

    /// The target of the picture for a command in the directory `here`.
    pub fn target(&self, here: &Path) -> Target {
        let path = self.output.as_ref().unwrap_or(&self.directory).path();
        let is_directory = ends_with_separator(path.as_os_str());
        let path = relative(path, here);
        let template = self.template.as_deref().and_then(|text| Template::parse(text).ok());
        let place = match (&self.output, template) {
            (Some(_), Some(template)) => Place::Pattern(Pattern { directory: path, template }),
            (Some(_), None) if !is_directory && !path.as_os_str().is_empty() => Place::at(&path),
            _ => Place::Named(path),
        };
        let Self { overwrite, mkdir, describe, .. } = *self;
        Target { place, overwrite, mkdir, describe }
    }
}

/// The path as people in the directory `here` would type it: relative, if it is below that.
pub fn relative(path: &Path, here: &Path) -> PathBuf {
    path.strip_prefix(here).unwrap_or(path).to_owned()
}
