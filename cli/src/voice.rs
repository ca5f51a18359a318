//! What is said on standard error while a command works, and how results come out on standard
//! output.
//!
//! A stream that was closed is no reason to panic, nor to lose a task: what can't be said on
//! standard error is not said.

use std::{
    io::{self, IsTerminal, Write},
    time::Duration,
};

use imagekiln::{Task, TaskRef};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use crate::{args::globals::Globals, failure::Failure, shown::json_line};

/// Speaks to people, or in JSON to programs.
#[derive(Debug, Clone, Copy)]
pub struct Voice {
    pub json: bool,
    quiet: bool,
    spins: bool,
}

impl Voice {
    pub fn new(globals: &Globals) -> Self {
        let spins =
            !globals.json && !globals.quiet && globals.verbose == 0 && io::stderr().is_terminal();
        Self { json: globals.json, quiet: globals.quiet, spins }
    }

    /// Something that should be known, and stops nothing.
    pub fn warning(&self, text: &str) {
        if !self.quiet {
            self.say("warning", || format!("warning: {text}"), || json!({ "message": text }));
        }
    }

    /// Tells the task as soon as it is paid.
    pub fn submitted(&self, task: &Task) {
        if self.quiet {
            return;
        }
        let people = || {
            let model = task.reference().operation().unwrap_or("the service");
            match task.cost() {
                Some(cost) => format!("submitted task {} to {model} ({cost} credits)", task.id()),
                None => format!("submitted task {} to {model}", task.id()),
            }
        };
        self.say("submitted", people, || json!({ "task": task_json(task) }));
    }

    /// The answer to Ctrl-C while a submission is under way; said even if `--quiet`.
    pub fn finishing(&self) {
        let text = "finishing the submission, so that no paid task is lost; press Ctrl-C again to give it up";
        self.say("finishing", || text.to_owned(), || json!({ "message": text }));
    }

    fn say(&self, event: &str, people: impl FnOnce() -> String, programs: impl FnOnce() -> Value) {
        let line = if self.json {
            let mut value = programs();
            value["event"] = event.into();
            value.to_string()
        } else {
            people()
        };
        complain(&line);
    }

    /// A spinner, where there is a terminal for it; it goes when it is dropped.
    pub fn spin(&self, text: impl Into<String>) -> Spinner {
        let bar = self.spins.then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
                bar.set_style(style);
            }
            bar.set_message(text.into());
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        Spinner(bar)
    }

    /// A result on standard output: a line for people, or JSON for programs.
    pub fn result(
        &self,
        people: impl FnOnce() -> String,
        programs: impl FnOnce() -> Value,
    ) -> Result<(), Failure> {
        let text = if self.json { json_line(&programs()) } else { people() };
        line_on_stdout(&text).or_else(unwritten)
    }
}

/// Says a line on standard error.
pub fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Writes a line to standard output, which may be closed.
pub fn line_on_stdout(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{text}")?;
    stdout.flush()
}

/// The outcome of a command that could not write to standard output. Whoever closed a pipe has read
/// enough.
pub fn unwritten(error: io::Error) -> Result<(), Failure> {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(Failure::file("standard output can't be written", error)),
    }
}

/// A spinner that may not be there.
pub struct Spinner(Option<ProgressBar>);

impl Spinner {
    pub fn show(&self, text: impl Into<String>) {
        if let Some(bar) = &self.0 {
            bar.set_message(text.into());
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// A task's reference with its cost: what `kiln submit` prints, and what `kiln task` reads.
pub fn task_json(task: &Task) -> Value {
    let mut value = reference_json(task.reference());
    value["cost"] = task.cost().into();
    value["input_mp"] = task.input_mp().into();
    value["output_mp"] = task.output_mp().into();
    value
}

/// A reference always serialises; were it not so, the id would do.
pub fn reference_json(task: &TaskRef) -> Value {
    serde_json::to_value(task).unwrap_or_else(|_| json!({ "id": task.id() }))
}
