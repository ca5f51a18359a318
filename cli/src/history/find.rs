//! Finds a submission by `@last`, by its number, or by its task, and a picture by its file, too.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{Entry, read, request};
use crate::{failure::Failure, models, process::Process, text::sanitize::one_line};
use imagekiln::{Operation, TaskRef};
use imagekiln_batch::Description;

/// What is added to the name of a picture for the file that describes it.
pub const DESCRIPTION: &str = ".json";

/// How arguments name a picture, for help.
pub const PICTURE_HELP: &str = concat!(
    "@last, @ and a number of `kiln history`, the id of a task or its beginning, a saved picture, ",
    "or the .json file beside it"
);

/// The fewest characters of an id that are a prefix. Shorter texts are complete ids.
const SHORTEST_PREFIX: usize = 4;

const ADVICE: &str = "`kiln history` lists the submissions with their numbers";

/// The submission that `@last` or `@3` names. `None` if the text has another form.
pub fn by_number(entries: &[Entry], text: &str) -> Result<Option<Entry>, Failure> {
    let Some(name) = text.strip_prefix('@') else { return Ok(None) };
    let found = match name {
        "last" => {
            entries.first().ok_or_else(|| Failure::usage("the history is empty").advise(ADVICE))?
        }
        number => {
            let number: u64 = number.parse().map_err(|_| {
                Failure::usage(format!("`{}` is not a submission", one_line(text)))
                    .advise("use @last, or @ and a number of `kiln history`")
            })?;
            entries.iter().find(|entry| entry.number == number).ok_or_else(|| {
                Failure::usage(format!("the history has no submission @{number}")).advise(ADVICE)
            })?
        }
    };
    Ok(Some(found.clone()))
}

pub fn by_task(entries: &[Entry], task: &TaskRef) -> Option<Entry> {
    let is_it = |entry: &&Entry| match task.submission() {
        Some(submission) => entry.submission() == submission,
        None => entry.record.task().is_some_and(|other| {
            let regions = other.region().zip(task.region());
            other.id() == task.id() && regions.is_none_or(|(one, other)| one == other)
        }),
    };
    entries.iter().find(is_it).cloned()
}

/// The submission whose task has this id, or is the only one whose id starts like this.
pub fn by_prefix(entries: &[Entry], text: &str) -> Result<Option<Entry>, Failure> {
    let starts = |entry: &&Entry| entry.record.task().is_some() && id_of(entry).starts_with(text);
    let found: Vec<&Entry> = entries.iter().filter(starts).collect();
    if let Some(entry) = found.iter().find(|entry| id_of(entry) == text) {
        return Ok(Some((*entry).clone()));
    }
    let is_numbered = |number: u64| entries.iter().any(|entry| entry.number == number);
    if text.parse().is_ok_and(|number| text.len() < SHORTEST_PREFIX || is_numbered(number)) {
        return Err(Failure::usage(format!("{text} is not the id of a task")).advise(format!(
            "nothing was sent; write @{text} for the submission with this number"
        )));
    }
    if text.len() < SHORTEST_PREFIX {
        return Ok(None);
    }
    if let [_, _, ..] = found[..] {
        let ids = found.iter().map(|entry| format!("{} (@{})", id_of(entry), entry.number));
        let ids: Vec<_> = ids.take(5).collect();
        let problem = format!("several tasks start with {}: {}", one_line(text), ids.join(", "));
        return Err(Failure::usage(problem).advise("pass more of the id, or the number"));
    }
    Ok(found.first().map(|entry| (*entry).clone()))
}

/// The submission that `@last`, `@3`, an id or its beginning names.
pub fn recorded(entries: &[Entry], text: &str) -> Result<Option<Entry>, Failure> {
    match by_number(entries, text)? {
        Some(entry) => Ok(Some(entry)),
        None => by_prefix(entries, text),
    }
}

fn id_of(entry: &Entry) -> &str {
    entry.record.task().map_or("", TaskRef::id)
}

/// A picture that was made before, in the history or described by the file beside it.
pub enum Made {
    Recorded(Box<Entry>),
    /// The path of the picture, and the content of the file beside it.
    Described(PathBuf, Box<Description>),
}

impl Made {
    /// Finds the picture that an argument names.
    pub fn find(process: &Process, given: &str) -> Result<Self, Failure> {
        let path = process.directory.join(given);
        let is_file = !given.starts_with('@') && path.is_file();
        let entries = match read(process) {
            Err(_) if is_file => Vec::new(),
            entries => entries?,
        };
        let found = if is_file {
            of_file(&entries, &path)?
        } else {
            recorded(&entries, given)?.map(|entry| Self::Recorded(Box::new(entry)))
        };
        found.ok_or_else(|| {
            let given = one_line(given);
            let problem = if is_file {
                format!(
                    "the history has no picture {given}, and no {given}{DESCRIPTION} is beside it"
                )
            } else {
                format!("the history has no task {given}, and there is no such file")
            };
            Failure::usage(problem).advise("`kiln history` lists the pictures with their numbers")
        })
    }

    /// What the history or the file has of the request.
    pub fn request(&self) -> Option<&Value> {
        match self {
            Self::Recorded(entry) => entry.kept.request.as_ref(),
            Self::Described(_, description) => Some(&description.request),
        }
    }

    pub fn operation(&self) -> Option<&'static Operation> {
        models::find(self.request().and_then(request::operation)?)
    }

    /// The path of the picture, if it was saved to a file.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Recorded(entry) => entry.saved_path(),
            Self::Described(path, _) => Some(path),
        }
    }

    /// A name of the picture for messages.
    pub fn name(&self) -> String {
        match self {
            Self::Recorded(entry) => format!("@{}", entry.number),
            Self::Described(path, _) => path.display().to_string(),
        }
    }
}

/// The picture in a file, or the one that the file describes. The history knows more than the file
/// beside a picture.
fn of_file(entries: &[Entry], path: &Path) -> Result<Option<Made>, Failure> {
    let beside = path.to_string_lossy();
    let (picture, description) = match beside.strip_suffix(DESCRIPTION) {
        Some(picture) => (PathBuf::from(picture), path.to_owned()),
        None => (path.to_owned(), PathBuf::from(format!("{beside}{DESCRIPTION}"))),
    };
    let same = |one: &Path, other: &Path| {
        one == other
            || fs::canonicalize(one)
                .ok()
                .is_some_and(|one| fs::canonicalize(other).is_ok_and(|other| one == other))
    };
    let is_it = |entry: &&Entry| entry.saved_path().is_some_and(|saved| same(saved, &picture));
    if let Some(entry) = entries.iter().find(is_it).filter(|entry| entry.kept.request.is_some()) {
        return Ok(Some(Made::Recorded(Box::new(entry.clone()))));
    }
    let Ok(content) = fs::read(&description) else { return Ok(None) };
    match Description::parse(&content) {
        Some(description) => Ok(Some(Made::Described(picture, Box::new(description)))),
        None => {
            let shown = description.display();
            Err(Failure::usage(format!("{shown} does not describe a picture"))
                .advise("pass a file that `kiln batch run` or --describe wrote beside a picture"))
        }
    }
}
