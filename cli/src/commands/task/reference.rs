//! The task that an argument names: by a file, JSON, an id, or a submission in the history.

use std::{
    fs,
    io::{self, Read},
    path::Path,
};

use crate::{
    context::Context,
    failure::{Failure, settle},
    history::{Entry, Record, Store, find},
    json,
    session::Session,
};
use imagekiln::{Region, Task, TaskRef};

const WHAT_TO_PASS: &str = "pass a file with the output of `kiln submit`, `-` for standard input, \
                            the task's id, or @ and a number of `kiln history`";

/// What the argument contains.
enum Named {
    Whole(TaskRef),
    Id(String),
    Recorded(u64, Box<Entry>),
}

/// A task and its record, if the history has one that this command may change.
pub struct Found {
    reference: Result<TaskRef, String>,
    pub record: Option<Record>,
}

impl Found {
    pub fn task(&self, session: &Session) -> Result<Task, Failure> {
        Ok(match &self.reference {
            Ok(reference) => session.client.task(reference.clone()),
            Err(id) => session.client.task_in(Region::Global, id)?,
        })
    }
}

/// Finds the task. Nothing is sent.
pub fn find(context: &Context, given: &str) -> Result<Found, Failure> {
    let store = Store::locate();
    let named = match find_by_number(store.as_ref().ok(), given)? {
        Some(named) => named,
        None => read(store.as_ref().ok(), given)?,
    };
    let by_id = |id: &str| find::by_id(store.as_ref().ok()?, id);
    let (reference, recorded) = match named {
        Named::Recorded(number, entry) => {
            let reference = entry.task.clone().ok_or_else(|| without_task(number))?;
            (Ok(reference), Some((number, *entry)))
        }
        Named::Whole(reference) => {
            let recorded = by_id(reference.id());
            (Ok(reference), recorded)
        }
        Named::Id(id) => (Err(id), None),
    };
    let record = match (&store, recorded) {
        (Ok(store), Some((number, entry))) if context.records()? => {
            // Without a claim, another command waits for the same task. Both may save it.
            let claim = store.claim(number).ok().flatten();
            Some(Record::existing(store, context.output, (number, entry), claim))
        }
        _ => None,
    };
    Ok(Found { reference, record })
}

fn find_by_number(store: Option<&Store>, given: &str) -> Result<Option<Named>, Failure> {
    let Some(store) = store else { return Ok(None) };
    let found = find::by_number(store, given)?;
    Ok(found.map(|(number, entry)| Named::Recorded(number, Box::new(entry))))
}

fn without_task(number: u64) -> Failure {
    let problem = format!("submission @{number} has no task: its response was lost");
    let settled = settle(&[format!("@{number}")], None);
    Failure::usage(problem).advise(format!("check your usage with the service: {settled}"))
}

fn read(store: Option<&Store>, given: &str) -> Result<Named, Failure> {
    let text = match given {
        blank if blank.trim().is_empty() => {
            return Err(Failure::usage("the task is empty").advise(WHAT_TO_PASS));
        }
        "-" => {
            let mut text = String::new();
            io::stdin()
                .lock()
                .read_to_string(&mut text)
                .map_err(|error| Failure::file("could not read standard input", error))?;
            text
        }
        json if json.trim_start().starts_with('{') => json.to_owned(),
        path if Path::new(path).exists() || looks_like_a_path(path) => fs::read_to_string(path)
            .map_err(|error| {
                Failure::file(format!("could not read {path}"), error).advise(WHAT_TO_PASS)
            })?,
        id => return by_id(store, id),
    };
    let text = text.trim();
    match serde_json::from_str(text) {
        Ok(reference) => Ok(Named::Whole(reference)),
        // A file or a pipe may also contain a bare id.
        Err(_) if is_bare_id(text) => by_id(store, text),
        Err(error) => {
            let problem = format!("could not parse the task: {}", json::without_value(&error));
            Err(Failure::usage(problem).advise(WHAT_TO_PASS))
        }
    }
}

/// An id that the history does not have is polled at the base URL.
fn by_id(store: Option<&Store>, id: &str) -> Result<Named, Failure> {
    let found = store.map(|store| find::by_prefix(store, id)).transpose()?.flatten();
    Ok(match found {
        Some((number, entry)) => Named::Recorded(number, Box::new(entry)),
        None => Named::Id(id.to_owned()),
    })
}

fn looks_like_a_path(text: &str) -> bool {
    text.contains(['/', '\\']) || text.ends_with(".json")
}

fn is_bare_id(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:".contains(c))
}
