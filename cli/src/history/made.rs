//! A picture that was made before, in the history or described by the file beside it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{Entry, find, read, request};
use crate::{failure::Failure, models, output::Output, text::sanitize::one_line};
use imagekiln::Operation;
use imagekiln_batch::Description;

/// What is added to the name of a picture for the file that describes it.
pub const DESCRIPTION: &str = ".json";

/// How arguments name a picture, for help.
pub const HELP: &str = "@last, @ and a number of `kiln history`, the id of a task or its \
                        beginning, a saved picture, or the .json file beside it";

pub enum Made {
    Recorded(Box<Entry>),
    /// The path of the picture, and the content of the file beside it.
    Described(PathBuf, Box<Description>),
}

impl Made {
    /// Finds the picture that an argument names.
    pub fn find(output: &Output, given: &str) -> Result<Self, Failure> {
        let path = output.process.directory.join(given);
        let is_file = !given.starts_with('@') && path.is_file();
        let entries = match read(output) {
            Err(_) if is_file => Vec::new(),
            entries => entries?,
        };
        let found = if is_file {
            of_file(&entries, &path)?
        } else {
            let found = find::by_number(&entries, given)?
                .map_or_else(|| find::by_prefix(&entries, given), |entry| Ok(Some(entry)));
            found?.map(|entry| Self::Recorded(Box::new(entry)))
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
