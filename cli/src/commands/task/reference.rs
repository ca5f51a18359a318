//! The task that an argument names: by a file, JSON, an id, or a submission in the history.

use std::{fs, io::Read, path::Path};

use crate::{
    context::Context,
    failure::{Failure, exit::Exit, settle},
    files::target::Target,
    history::{self, Entry, History, find},
    service::session::Session,
};
use imagekiln::{ErrorKind, Region, Task, TaskRef, text::without_value};

const WHAT_TO_PASS: &str = "pass @ and a number of `kiln history`, the task's id, a file with the \
                            output of `kiln task submit`, or `-` for standard input";

/// The content of the argument.
enum Named {
    Whole(TaskRef),
    Id(String),
    Recorded(Box<Entry>),
}

/// A task and its submission, if the history has it.
pub struct Found {
    reference: Result<TaskRef, String>,
    entry: Option<Entry>,
}

impl Found {
    /// Opens the history, if this command is to record the end of the task.
    pub async fn session(&self, context: &Context) -> Result<Session, Failure> {
        let history = match self.entry() {
            Some(entry) if context.records()? => {
                let history = History::open(&context.output, Vec::new())?;
                // Another command may wait for the same task. Both may save it.
                history.include(entry).await?;
                Some(history)
            }
            _ => None,
        };
        Session::recorded(context, history).await
    }

    pub fn task(&self, session: &Session) -> Result<Task, Failure> {
        let reference = match &self.reference {
            Ok(reference) => reference.clone(),
            Err(id) => return Ok(session.client.task_in(Region::Global, id)?),
        };
        let Some(entry) = &self.entry else { return Ok(session.client.task(reference)) };
        let task = session.client.task(reference.of_submission(entry.submission()));
        Ok(match entry.record.ready_at() {
            Some(at) => task.ready_since(at),
            None => task,
        })
    }

    /// Whether there is such a task: a typed id may be misspelled.
    pub fn is_certain(&self) -> bool {
        self.reference.is_ok()
    }

    /// Adds the command that resumes the task to a failure, if there is such a task.
    pub fn explain(&self, context: &Context, failure: Failure, target: Option<&Target>) -> Failure {
        let of_picture = [ErrorKind::Deadline, ErrorKind::Download, ErrorKind::AddressRefused];
        let is_found =
            failure.exit == Exit::Other || of_picture.iter().any(|kind| failure.kind == *kind);
        if self.is_certain() || is_found {
            return context.with_resume_command(failure, target, self.entry());
        }
        match failure.exit {
            Exit::Network | Exit::KeyRefused | Exit::Unpaid | Exit::Usage => failure.advise(
                "nothing was changed; check the id, the key and the profile, then run it again",
            ),
            Exit::Interrupted => failure.advise("nothing was changed"),
            _ => failure,
        }
    }

    pub fn entry(&self) -> Option<&Entry> {
        self.entry.as_ref()
    }
}

/// Finds the task. Nothing is sent.
pub fn find(context: &Context, given: &str) -> Result<Found, Failure> {
    let entries = match history::read(context.process()) {
        // A task that is named in another way can be polled without the history.
        Err(_) if !given.starts_with('@') => Vec::new(),
        entries => entries?,
    };
    let named = match find::by_number(&entries, given)? {
        Some(entry) => Named::Recorded(Box::new(entry)),
        None => read(context, &entries, given)?,
    };
    Ok(match named {
        Named::Recorded(entry) => {
            let task = entry.record.task().cloned();
            let reference = task.ok_or_else(|| without_task(entry.number))?;
            Found { reference: Ok(reference), entry: Some(*entry) }
        }
        Named::Whole(reference) => {
            let entry = find::by_task(&entries, &reference);
            Found { reference: Ok(reference), entry }
        }
        Named::Id(id) => Found { reference: Err(id), entry: None },
    })
}

fn without_task(number: u64) -> Failure {
    let problem = format!("submission @{number} has no task: its response was lost");
    let settled = settle(&[format!("@{number}")], None);
    Failure::usage(problem).advise(format!("check your usage with the service: {settled}"))
}

fn read(context: &Context, entries: &[Entry], given: &str) -> Result<Named, Failure> {
    let text = match given {
        blank if blank.trim().is_empty() => {
            return Err(Failure::usage("the task is empty").advise(WHAT_TO_PASS));
        }
        "-" if context.process().stdin.is_terminal => {
            let problem = "could not read a task from standard input: it is a terminal";
            return Err(Failure::usage(problem).advise(WHAT_TO_PASS));
        }
        "-" => {
            let mut text = String::new();
            (&context.process().stdin)
                .read_to_string(&mut text)
                .map_err(|error| Failure::file("could not read standard input", error))?;
            text
        }
        json if json.trim_start().starts_with('{') => json.to_owned(),
        path if Path::new(path).exists() || looks_like_a_path(path) => fs::read_to_string(path)
            .map_err(|error| {
                Failure::file(format!("could not read {path}"), error).advise(WHAT_TO_PASS)
            })?,
        id => return by_id(entries, id),
    };
    let text = text.trim();
    match serde_json::from_str(text) {
        Ok(reference) => Ok(Named::Whole(reference)),
        // A file or a pipe may also contain a bare id.
        Err(_) if is_bare_id(text) => by_id(entries, text),
        Err(error) => {
            let problem = format!("could not parse the task: {}", without_value(&error));
            Err(Failure::usage(problem).advise(WHAT_TO_PASS))
        }
    }
}

/// An id that the history does not have is polled at the base URL.
fn by_id(entries: &[Entry], id: &str) -> Result<Named, Failure> {
    Ok(match find::by_prefix(entries, id)? {
        Some(entry) => Named::Recorded(Box::new(entry)),
        None => Named::Id(id.to_owned()),
    })
}

fn looks_like_a_path(text: &str) -> bool {
    text.contains(['/', '\\']) || text.ends_with(".json")
}

fn is_bare_id(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:".contains(c))
}
