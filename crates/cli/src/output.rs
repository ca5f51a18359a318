//! Progress and events on standard error, and results on standard output.
//!
//! A closed stream neither makes the program panic nor ends a command that waits for a paid task:
//! text that can't be written to standard error is dropped.

use std::{fmt::Write, io, path::Path, sync::Arc, time::Duration};

use serde_json::{Value, json};

use crate::{
    failure::Failure,
    process::Process,
    terminal::{ADVICE, ERROR, PATH, Paint, Spinner, WARNING},
    text::{
        json::{self, json_line},
        one_line, printable, printable_lines,
    },
};
use imagekiln::{
    SubmissionResponse, Task, TaskRef,
    text::{Credits, counted},
};

/// Writes text for people, or JSON for programs.
#[derive(Clone)]
pub struct Output {
    pub process: Arc<Process>,
    pub json: bool,
    pub quiet: bool,
    /// Whether progress is shown on a terminal.
    pub spins: bool,
}

impl Output {
    /// `json`, `quiet` and `verbosity` are the global options.
    pub fn new(process: Arc<Process>, json: bool, quiet: bool, verbosity: u8) -> Self {
        let is_silent = json || quiet || verbosity > 0;
        let spins = !is_silent && process.stderr.is_terminal;
        Self { process, json, quiet, spins }
    }

    /// Reports a problem that does not stop the command.
    pub fn warning(&self, text: &str) {
        if !self.quiet {
            let label = self.process.stderr.paint().text(WARNING, "warning:");
            self.event("warning", || format!("{label} {text}"), || json!({ "message": text }));
        }
    }

    /// Reports something that is neither a result nor a problem.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            self.message("note", text);
        }
    }

    /// Reports, even with `--quiet`, that a command continues without one of its pictures: the one
    /// with this `name`, whose `number` programs find in a member.
    pub fn not_saved(&self, name: &str, (member, number): (&str, u64), failure: &Failure) {
        let programs = || json::with(report_json(failure), [(member, number.into())]);
        let people = || format!("{name}: {}", report(failure, self.process.stderr.paint()));
        self.event("not_saved", people, programs);
    }

    /// Reports the task as soon as it is created.
    pub fn submitted(&self, task: &Task) {
        if self.quiet {
            return;
        }
        let people = || {
            let model = task.reference().operation().unwrap_or("the service");
            match task.cost() {
                Some(cost) => {
                    let cost = Credits(cost);
                    format!("submitted task {} to {model} ({cost} credits)", task.id())
                }
                None => format!("submitted task {} to {model}", task.id()),
            }
        };
        self.event("submitted", people, || json!({ "task": task_json(task) }));
    }

    /// Describes a saved picture to people. Programs find the same facts in the result on standard
    /// output.
    pub fn saved(&self, path: &Path, description: impl FnOnce() -> String) {
        if !self.quiet && !self.json {
            let path = printable(&path.to_string_lossy());
            let path = self.process.stderr.paint().text(PATH, path);
            self.process.line_on_stderr(&format!("saved {path}: {}", description()));
        }
    }

    /// Reports how many of several pictures were saved, what they cost, and how long that took.
    pub fn totals(&self, (saved, all): (usize, usize), credits: Option<f64>, took: Duration) {
        if self.quiet {
            return;
        }
        let seconds = took.as_secs_f64();
        let people = || {
            let pictures = if saved == all {
                counted(all as u64, "picture")
            } else {
                format!("{saved} of {}", counted(all as u64, "picture"))
            };
            let credits =
                credits.map_or(String::new(), |cost| format!(", {:.2} credits", Credits(cost)));
            format!("{pictures}{credits}, {seconds:.1} s")
        };
        let programs =
            || json!({ "saved": saved, "pictures": all, "credits": credits, "seconds": seconds });
        self.event("totals", people, programs);
    }

    /// Reports, even with `--quiet`, that a stopped batch waits for its last responses.
    pub fn last_responses(&self, limit: Duration) {
        let text = format!(
            "stopping now: waiting up to {} s for the responses to submissions in flight",
            limit.as_secs()
        );
        self.message("stopping_now", &text);
    }

    /// Reports, even with `--quiet`, an accepted task that the ledger could not record.
    pub fn unrecorded(&self, task: &TaskRef, command: &str) {
        let people = || {
            let (id, model) = (one_line(task.id()), task.operation().unwrap_or("an unknown model"));
            format!("not recorded: task {id} of {model}; save its picture with: {command}")
        };
        let programs = || json!({ "task": reference_json(task), "resume": command });
        self.event("not_recorded", people, programs);
    }

    /// Reports an event, even with `--quiet`.
    pub fn message(&self, event: &str, text: &str) {
        self.event(event, || text.to_owned(), || json!({ "message": text }));
    }

    fn event(
        &self,
        event: &str,
        people: impl FnOnce() -> String,
        programs: impl FnOnce() -> Value,
    ) {
        let line = if self.json {
            json::with(programs(), [("event", event.into())]).to_string()
        } else {
            people()
        };
        self.process.line_on_stderr(&line);
    }

    /// Starts a spinner, if progress is shown. Dropping the spinner removes it from the terminal.
    pub fn spin(&self, text: impl Into<String>) -> Spinner {
        Spinner::start(self.spins, text.into())
    }

    /// Prints a result on standard output: text for people, or JSON for programs.
    pub fn result(
        &self,
        people: impl FnOnce() -> String,
        programs: impl FnOnce() -> Value,
    ) -> Result<(), Failure> {
        let text = if self.json { json_line(&programs()) } else { people() };
        self.process.line_on_stdout(&text).or_else(write_failed)
    }
}

/// Returns the report of a failure for people: a few lines. Control characters are replaced,
/// because messages may quote text that others wrote, such as a job file or a response.
pub fn report(failure: &Failure, paint: Paint) -> String {
    let mut text = paint.text(ERROR, "error:");
    let mut add = |before: &str, quoted: &str| {
        // Writing to a `String` does not fail.
        let _ = write!(text, "{before}{}", printable_lines(quoted));
    };
    add(" ", &failure.message);
    for violation in &failure.violations {
        add("\n  - ", &violation.to_string());
    }
    for problem in &failure.problems {
        add("\n", &problem.to_string());
    }
    if failure.more_problems > 0 {
        add("\n", &format!("and {} more", failure.more_problems));
    }
    for cause in &failure.causes {
        add("\ncaused by: ", cause);
    }
    if failure.billing_unknown && failure.unrecorded.is_empty() {
        add("\n", "billing: unknown");
    }
    if let Some(advice) = &failure.advice {
        add(&format!("\n{} ", paint.text(ADVICE, "advice:")), advice);
    }
    if let Some(command) = &failure.resume_command {
        // A batch has a command that resumes it, too, but is not about one task.
        let paid = failure.task.as_ref().map_or("", |_| "the task is paid for; ");
        add(&format!("\n{paid}{}\n  ", paint.text(ADVICE, "resume it with:")), command);
    }
    text
}

/// Returns the report of a failure for programs.
pub fn report_json(failure: &Failure) -> Value {
    let report = json!(**failure);
    match &failure.kept {
        Some(path) => json::with(report, [("kept", path.to_string_lossy().into())]),
        None => report,
    }
}

/// Returns the outcome of a command that could not write to standard output. A closed pipe is not
/// an error: the program that read from it does not need the rest.
pub fn write_failed(error: io::Error) -> Result<(), Failure> {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(Failure::file("could not write to standard output", error)),
    }
}

/// Returns the reference of a task with its cost, as `kiln task submit` prints it and the other
/// commands of `kiln task` read it.
pub fn task_json(task: &Task) -> Value {
    let (input_mp, output_mp) = match task.response() {
        Some(SubmissionResponse::Async(response)) => (response.input_mp, response.output_mp),
        Some(SubmissionResponse::Webhook(response)) => (response.input_mp, response.output_mp),
        _ => (None, None),
    };
    let members = [("cost", task.cost()), ("input_mp", input_mp), ("output_mp", output_mp)];
    json::with(reference_json(task.reference()), members.map(|(name, of)| (name, of.into())))
}

/// Serializes a reference. This cannot fail, but if it did, the result would still have the id.
pub fn reference_json(task: &TaskRef) -> Value {
    serde_json::to_value(task).unwrap_or_else(|_| json!({ "id": task.id() }))
}
