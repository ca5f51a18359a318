//! Finds a submission by `@last`, by its number or by its task, and a picture also by its file.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{Entry, numbered, read, request};
use crate::{failure::Failure, models, process::Process, text::one_line};
use imagekiln::{Operation, TaskRef, digest_of_file};
use imagekiln_label::Description;

/// What the name of a description adds to the name of its picture: `fox.png.json`.
pub const DESCRIPTION: &str = ".json";

/// How arguments name a picture, for help.
pub const PICTURE_HELP: &str = concat!(
    "@last, @ and a number of `kiln history`, the id of a task or its beginning, a saved picture, ",
    "or the .json file beside it"
);

/// The fewest characters with which an id can be abbreviated. Shorter texts must be complete ids.
const SHORTEST_PREFIX: usize = 4;

const ADVICE: &str = "`kiln history` lists the submissions with their numbers";

/// Returns the submission that `@last` or `@3` names, or `None` if the text has another form.
pub fn by_number(process: &Process, text: &str) -> Result<Option<Entry>, Failure> {
    let Some(name) = text.strip_prefix('@') else { return Ok(None) };
    if name == "last" {
        let last = read(process)?.flatten().next();
        let empty = || Failure::usage("the history is empty").advise(ADVICE);
        return last.ok_or_else(empty).map(Some);
    }
    let number: u64 = name.parse().map_err(|_| {
        Failure::usage(format!("`{}` is not a submission", one_line(text)))
            .advise("use @last, or @ and a number of `kiln history`")
    })?;
    let missing =
        || Failure::usage(format!("the history has no submission @{number}")).advise(ADVICE);
    numbered(process, number)?.ok_or_else(missing).map(Some)
}

pub fn by_task(process: &Process, task: &TaskRef) -> Result<Option<Entry>, Failure> {
    let is_it = |entry: &Entry| match task.submission() {
        Some(submission) => entry.submission() == submission,
        None => entry.record.task().is_some_and(|other| {
            let regions = other.region().zip(task.region());
            other.id() == task.id() && regions.is_none_or(|(one, other)| one == other)
        }),
    };
    Ok(read(process)?.flatten().find(is_it))
}

/// Returns the submission whose task has this id, or the only one whose id starts with the text.
pub fn by_prefix(process: &Process, text: &str) -> Result<Option<Entry>, Failure> {
    let starts = |entry: &Entry| entry.record.task().is_some() && id_of(entry).starts_with(text);
    let found: Vec<Entry> = read(process)?.flatten().filter(starts).collect();
    if let Some(entry) = found.iter().find(|entry| id_of(entry) == text) {
        return Ok(Some(entry.clone()));
    }
    if let Ok(number) = text.parse()
        && (text.len() < SHORTEST_PREFIX || numbered(process, number)?.is_some())
    {
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
    Ok(found.into_iter().next())
}

/// Returns the submission that `@last`, `@3`, an id or its beginning names.
pub fn recorded(process: &Process, text: &str) -> Result<Option<Entry>, Failure> {
    match by_number(process, text)? {
        Some(entry) => Ok(Some(entry)),
        None => by_prefix(process, text),
    }
}

/// Whether this is the model of a submission, by any of its names.
pub fn is_of_model(entry: &Entry, model: &str) -> bool {
    let named = models::find(model).map_or(model, |model| model.name);
    entry.record.intent().operation() == named || entry.model() == model
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

/// Describes the picture in a file with this digest, if a batch has saved it.
pub type OfBatches = fn(&Process, &Path, &str) -> Option<Description>;

impl Made {
    /// Finds the picture that an argument names.
    pub fn find(process: &Process, given: &str, batches: OfBatches) -> Result<Self, Failure> {
        let path = process.directory.join(given);
        let is_file = !given.starts_with('@') && path.is_file();
        let found = if is_file {
            of_file(process, &path, batches)?
        } else {
            recorded(process, given)?.map(|entry| Self::Recorded(Box::new(entry)))
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
            Failure::usage(problem).advise(
                "`kiln history` lists the pictures with their numbers; --simulate and --no-history \
                 record nothing, and --describe keeps the request beside the picture",
            )
        })
    }

    /// Returns the request, as the history or the file beside the picture keeps it.
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

    /// Returns how to get the picture again, if its file was deleted.
    pub fn how_to_restore(&self, process: &Process) -> Option<String> {
        match self {
            Self::Recorded(entry) => entry.how_to_restore(&process.directory),
            Self::Described(..) => None,
        }
    }

    /// Returns a name of the picture for messages.
    pub fn name(&self) -> String {
        match self {
            Self::Recorded(entry) => format!("@{}", entry.number),
            Self::Described(path, _) => path.display().to_string(),
        }
    }
}

/// Returns the picture in a file, or the picture that the file describes. Looks in the history
/// first, because it contains more than the file beside a picture.
fn of_file(process: &Process, path: &Path, batches: OfBatches) -> Result<Option<Made>, Failure> {
    let beside = path.to_string_lossy();
    let (picture, description) = match beside.strip_suffix(DESCRIPTION) {
        Some(picture) => (PathBuf::from(picture), path.to_owned()),
        None => (path.to_owned(), PathBuf::from(format!("{beside}{DESCRIPTION}"))),
    };
    let real = |path: &Path| fs::canonicalize(path).ok();
    let same = |one: &Path, other: &Path| {
        one == other || real(one).is_some_and(|one| real(other).is_some_and(|other| one == other))
    };
    let is_there = |entry: &Entry| entry.saved_path().is_some_and(|saved| same(saved, &picture));
    // The digest recognizes a picture that was copied, renamed or moved. Only this file is read, no
    // other one.
    let digest = digest_of_file(&picture).ok();
    let (mut copied, mut was_there) = (None, false);
    for entry in read(process).into_iter().flatten().flatten() {
        let is_kept = entry.kept.request.is_some();
        // Only the newest submission counts: an older picture at the same path was replaced.
        if !was_there && is_there(&entry) {
            was_there = true;
            if is_kept {
                return Ok(Some(Made::Recorded(Box::new(entry))));
            }
        }
        let is_same = digest.is_some() && entry.sha256() == digest.as_deref();
        if copied.is_none() && is_kept && is_same {
            copied = Some(entry);
        }
    }
    if let Some(entry) = copied {
        let found_at = Some(picture);
        return Ok(Some(Made::Recorded(Box::new(Entry { found_at, ..entry }))));
    }
    // The file beside the picture describes it without the history. A batch may have written that
    // file before a person moved the picture.
    let Ok(content) = fs::read(&description) else {
        let described = digest.and_then(|digest| batches(process, &picture, &digest));
        return Ok(described.map(|described| Made::Described(picture, Box::new(described))));
    };
    match Description::parse(&content) {
        Some(description) => Ok(Some(Made::Described(picture, Box::new(description)))),
        None => {
            let shown = description.display();
            Err(Failure::usage(format!("{shown} does not describe a picture"))
                .advise("pass a file that `kiln batch run` or --describe wrote beside a picture"))
        }
    }
}
