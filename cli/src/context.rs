//! What every command needs.

use std::{env, ffi::OsString, time::Duration};

use crate::{
    args::globals::Globals,
    failure::Failure,
    history::{Destination, Origin, Record, Recorder, Store},
    output::Output,
    output::reference_json,
    plan::Planned,
    settings::{Settings, names::Name},
};
use imagekiln::{TaskRef, WaitOptions};

/// Set to 1, it has the effect of `--no-history`.
const NO_HISTORY_VARIABLE: &str = "KILN_NO_HISTORY";

/// The global options and the output.
#[derive(Clone)]
pub struct Context {
    pub globals: Globals,
    pub output: Output,
    /// The settings that are not global options.
    pub settings: Settings,
    /// The name by which this program was called.
    program: String,
}

impl Context {
    pub fn new(globals: Globals, settings: Settings, program: Option<&OsString>) -> Self {
        let output = Output::new(&globals);
        let program =
            program.map_or("kiln".to_owned(), |program| program.to_string_lossy().into_owned());
        Self { globals, output, settings, program }
    }

    /// The same, but without spinners, for several tasks at once.
    pub fn without_spinner(&self) -> Self {
        let mut context = self.clone();
        context.output.spins = false;
        context
    }

    pub fn wait_options(&self) -> WaitOptions {
        let deadline: Option<Duration> = self.globals.deadline.or_else(|| self.settings.deadline());
        deadline
            .map_or_else(WaitOptions::default, |deadline| WaitOptions::default().deadline(deadline))
    }

    /// The hosts that the flags allow, or else the settings.
    pub fn hosts(&self, flags: &[String], name: &Name) -> Vec<String> {
        if flags.is_empty() { self.settings.list(name) } else { flags.to_vec() }
    }

    /// What records submissions in the history. `None` if they are not to be recorded.
    pub fn recorder(&self, planned: &[Planned]) -> Result<Option<Recorder>, Failure> {
        if !self.records()? {
            return Ok(None);
        }
        let origins = planned.iter().map(|planned| Origin {
            prompt: planned.prompt().map(str::to_owned),
            destination: Destination::of(&planned.target),
        });
        Ok(Some(Recorder::new(Store::locate()?, self.output, origins.collect())))
    }

    /// Whether this command writes to the history. Simulated tasks end with their command.
    pub fn records(&self) -> Result<bool, Failure> {
        let off = env::var_os(NO_HISTORY_VARIABLE).unwrap_or_default();
        let off = match off.to_str().map(str::trim) {
            Some("" | "0" | "false") => false,
            Some("1" | "true") => true,
            _ => {
                let problem = format!("{NO_HISTORY_VARIABLE} must be `1`, `true`, `0` or `false`");
                return Err(Failure::settings(problem).advise("set it to 1 or unset it"));
            }
        };
        Ok(!off && !self.globals.no_history && !self.globals.simulate)
    }

    /// Adds the command that resumes the task to a failure. `target` is the options of the target.
    pub fn with_resume_command(
        &self,
        mut failure: Failure,
        target: &[String],
        record: Option<&Record>,
    ) -> Failure {
        if let Some(task) = failure.task.as_ref().filter(|_| failure.leaves_a_picture_to_fetch()) {
            if self.globals.simulate {
                failure.advice =
                    Some("the task disappeared with the in-process simulator".to_owned());
            } else {
                let record = record.filter(|record| record.is_written());
                failure.resume_command = Some(match record {
                    Some(record) => self.resume_by_number(record, target),
                    None => self.resume_command(task, target),
                });
                failure.is_recorded = record.is_some();
            }
        }
        failure
    }

    fn resume_by_number(&self, record: &Record, target: &[String]) -> String {
        let name = format!("@{}", record.number);
        let mut words = vec!["task", "save", &name];
        // The history does not have standard output, devices and pipes.
        if record.entry.destination.output().is_none() {
            words.extend(target.iter().map(String::as_str));
        }
        self.command_line(words)
    }

    /// The command that waits for the task and saves its picture.
    pub fn resume_command(&self, task: &TaskRef, target: &[String]) -> String {
        let mut words = vec!["task", "save"];
        // Enough to resume the task, and short enough for a command line.
        let operation = task.operation().map(str::to_owned);
        let task = TaskRef::new(task.id(), task.polling_url().clone(), operation);
        let reference = reference_json(&task).to_string();
        words.push(&reference);
        words.extend(target.iter().map(String::as_str));
        self.command_line(words)
    }

    /// The command with the global options that it needs, quoted for a POSIX shell.
    pub fn command_line<'a>(&'a self, mut words: Vec<&'a str>) -> String {
        if let Some(profile) = &self.globals.profile {
            words.extend(["--profile", profile]);
        }
        for host in &self.globals.allow_polling_host {
            words.extend(["--allow-polling-host", host]);
        }
        for host in &self.globals.allow_delivery_host {
            words.extend(["--allow-delivery-host", host]);
        }
        if self.globals.simulate {
            words.push("--simulate");
        }
        words.insert(0, &self.program);
        words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
    }
}

/// Quotes a word for a POSIX shell.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_survive_the_shell() {
        assert_eq!(quoted("fox.png"), "fox.png");
        assert_eq!(quoted("a fox.png"), "'a fox.png'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
