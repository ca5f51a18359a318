//! What every command has at hand.

use std::{ffi::OsString, time::Duration};

use imagekiln::{TaskRef, WaitOptions};

use crate::{args::globals::Globals, failure::Failure, voice::Voice, voice::reference_json};

/// The options of every command, and the way to speak.
pub struct Context {
    pub globals: Globals,
    pub voice: Voice,
    /// How this program was called.
    program: String,
}

impl Context {
    pub fn new(globals: Globals, program: Option<&OsString>) -> Self {
        let voice = Voice::new(&globals);
        let program =
            program.map_or("kiln".to_owned(), |program| program.to_string_lossy().into_owned());
        Self { globals, voice, program }
    }

    pub fn wait_options(&self) -> WaitOptions {
        let deadline: Option<Duration> = self.globals.deadline;
        deadline
            .map_or_else(WaitOptions::default, |deadline| WaitOptions::default().deadline(deadline))
    }

    /// Puts into a failure the command that takes its task up again, with nothing but what the
    /// failure knows.
    pub fn with_take_up(&self, mut failure: Failure, output: Option<&str>) -> Failure {
        if let Some(task) = failure.task.as_ref().filter(|_| failure.leaves_a_picture_to_fetch()) {
            if self.globals.simulate {
                failure.advice = Some(
                    "the task lived in the simulator inside this process, and is gone with it"
                        .to_owned(),
                );
            } else {
                failure.take_up = Some(self.take_up(task, output));
            }
        }
        failure
    }

    fn take_up(&self, task: &TaskRef, output: Option<&str>) -> String {
        let mut words = vec![self.program.as_str(), "task", "save"];
        let reference = reference_json(task).to_string();
        words.push(&reference);
        if let Some(output) = output {
            words.extend(["--output", output]);
        }
        for host in &self.globals.allow_polling_host {
            words.extend(["--allow-polling-host", host]);
        }
        for host in &self.globals.allow_delivery_host {
            words.extend(["--allow-delivery-host", host]);
        }
        words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
    }
}

/// A word as a POSIX shell reads it back.
fn quoted(word: &str) -> String {
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
