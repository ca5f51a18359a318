//! Finds the task that an argument names. The argument is JSON, a file with JSON, an id, or the
//! number of a submission in the history.

use std::{fs, io::Read, path::Path};

use crate::{
    context::Context,
    failure::{Exit, Failure, settle},
    files::target::Target,
    history::{self, Entry, History, find},
    process::Process,
    service::Session,
};
use imagekiln::{ErrorKind, Region, Task, TaskRef, text::without_value};

const WHAT_TO_PASS: &str = "pass @ and a number of `kiln history`, the task's id, a file with the \
                            output of `kiln task submit`, or `-` for standard input";

/// A task, and its submission if the history has it.
pub struct Found {
    /// The reference of the task, or only its id if nothing else is known.
    reference: Result<TaskRef, String>,
    pub entry: Option<Entry>,
}

impl Found {
    /// Finds the task, and opens the client for it. Sends nothing.
    pub async fn open(context: &Context, given: &str) -> Result<(Self, Session, Task), Failure> {
        let found = Self::find(context, given)?;
        let history = match &found.entry {
            // Opens the history, so that this command records how the task ends.
            Some(entry) if context.records()? => {
                let history = History::open(&context.output, Vec::new())?;
                history.claim(entry).await?;
                Some(history)
            }
            _ => None,
        };
        let session = Session::recorded(context, history).await?;
        if let Some(entry) = &found.entry {
            session.check_service(context, entry, &format!("task save @{}", entry.number))?;
        }
        let task = found.task(&session)?;
        Ok((found, session, task))
    }

    fn find(context: &Context, given: &str) -> Result<Self, Failure> {
        let process = context.process();
        if let Some(entry) = find::by_number(process, given)? {
            return Self::recorded(entry);
        }
        let Some(text) = read(context, given)? else { return Self::by_id(process, given) };
        let text = text.trim();
        let is_of_id = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
        match serde_json::from_str(text) {
            Ok(reference) => {
                // A reference is enough to poll the task, so a failure to read the history is
                // ignored.
                let entry = find::by_task(process, &reference).ok().flatten();
                Ok(Self { reference: Ok(reference), entry })
            }
            // A file or a pipe may also contain a bare id.
            Err(_) if !text.is_empty() && text.chars().all(is_of_id) => Self::by_id(process, text),
            Err(error) => {
                let problem = format!("could not parse the task: {}", without_value(&error));
                Err(Failure::usage(problem).advise(WHAT_TO_PASS))
            }
        }
    }

    fn recorded(entry: Entry) -> Result<Self, Failure> {
        match entry.record.task().cloned() {
            Some(reference) => Ok(Self { reference: Ok(reference), entry: Some(entry) }),
            None => {
                let number = entry.number;
                let problem = format!("submission @{number} has no task: its response was lost");
                let settled = settle(&[format!("@{number}")], None);
                let advice = format!("check your usage with the service: {settled}");
                Err(Failure::usage(problem).advise(advice))
            }
        }
    }

    /// Finds the task by its id or the beginning of the id. If the history does not have the id,
    /// the client polls the task at the base URL.
    fn by_id(process: &Process, id: &str) -> Result<Self, Failure> {
        // If the history cannot be read, the id is polled at the base URL, too.
        let found = match history::read(process) {
            Ok(_) => find::by_prefix(process, id)?,
            Err(_) => None,
        };
        match found {
            Some(entry) => Self::recorded(entry),
            None => Ok(Self { reference: Err(id.to_owned()), entry: None }),
        }
    }

    fn task(&self, session: &Session) -> Result<Task, Failure> {
        let reference = match &self.reference {
            Ok(reference) => reference.clone(),
            Err(id) => return Ok(session.client.task_in(Region::Global, id)?),
        };
        let Some(entry) = &self.entry else { return Ok(session.client.task(reference)) };
        let is_its = entry.record.task().is_some_and(|task| task.id() == reference.id());
        let recorded = session.client.task_of_record(&entry.record).filter(|_| is_its);
        let of_submission = || session.client.task(reference.of_submission(entry.submission()));
        Ok(recorded.unwrap_or_else(of_submission))
    }

    /// Whether the task certainly exists. An id that is not in the history may be misspelled.
    pub fn is_certain(&self) -> bool {
        self.reference.is_ok()
    }

    /// Adds to a failure the command that resumes the task, if the task exists: its reference is
    /// known, or the failure shows that the service has found it.
    pub fn explain(&self, context: &Context, failure: Failure, target: Option<&Target>) -> Failure {
        let of_picture = [
            ErrorKind::Deadline,
            ErrorKind::Download,
            ErrorKind::Damaged,
            ErrorKind::AddressRefused,
        ];
        let is_found =
            failure.exit == Exit::Other || of_picture.into_iter().any(|kind| failure.is(kind));
        if self.is_certain() || is_found {
            return context.with_resume_command(failure, target, self.entry.as_ref());
        }
        match failure.exit {
            Exit::Network | Exit::KeyRefused | Exit::Unpaid | Exit::Usage => failure.advise(
                "nothing was changed; check the id, the key and the profile, then run it again",
            ),
            Exit::Interrupted => failure.advise("nothing was changed"),
            _ => failure,
        }
    }
}

/// Returns the text that the argument stands for: JSON, the content of a file, or standard input.
/// Returns `None` if the argument is an id.
fn read(context: &Context, given: &str) -> Result<Option<String>, Failure> {
    Ok(Some(match given {
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
        path if Path::new(path).exists()
            || path.contains(['/', '\\'])
            || path.ends_with(".json") =>
        {
            fs::read_to_string(path).map_err(|error| {
                Failure::file(format!("could not read {path}"), error).advise(WHAT_TO_PASS)
            })?
        }
        _ => return Ok(None),
    }))
}
