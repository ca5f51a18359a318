//! What every command needs.

use std::{ffi::OsString, time::Duration};

use crate::{args::globals::Globals, failure::Failure, output::Output, output::reference_json};
use imagekiln::{TaskRef, WaitOptions};

/// The global options and the output.
pub struct Context {
    pub globals: Globals,
    pub output: Output,
    /// The name by which this program was called.
    program: String,
}

impl Context {
    pub fn new(globals: Globals, program: Option<&OsString>) -> Self {
        let output = Output::new(&globals);
        let program =
            program.map_or("kiln".to_owned(), |program| program.to_string_lossy().into_owned());
        Self { globals, output, program }
    }

    pub fn wait_options(&self) -> WaitOptions {
        let deadline: Option<Duration> = self.globals.deadline;
        deadline
            .map_or_else(WaitOptions::default, |deadline| WaitOptions::default().deadline(deadline))
    }

    /// Adds the command that resumes the task to a failure.
    pub fn with_resume_command(&self, mut failure: Failure, output: Option<&str>) -> Failure {
        if let Some(task) = failure.task.as_ref().filter(|_| failure.leaves_a_picture_to_fetch()) {
            if self.globals.simulate {
                failure.advice =
                    Some("the task disappeared with the in-process simulator".to_owned());
            } else {
                failure.resume_command = Some(self.resume_command(task, output));
            }
        }
        failure
    }

    fn resume_command(&self, task: &TaskRef, output: Option<&str>) -> String {
        let mut words = vec!["task", "save"];
        // Enough to resume the task, and short enough for a command line.
        let operation = task.operation().map(str::to_owned);
        let task = TaskRef::new(task.id(), task.polling_url().clone(), operation);
        let reference = reference_json(&task).to_string();
        words.push(&reference);
        if let Some(output) = output {
            words.extend(["--output", output]);
        }
        self.command_line(words)
    }

    /// The command with the global options that it needs, quoted for a POSIX shell.
    pub fn command_line<'a>(&'a self, mut words: Vec<&'a str>) -> String {
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
