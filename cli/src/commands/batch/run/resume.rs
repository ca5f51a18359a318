//! The commands that continue a run.

use clap::ArgMatches;

use super::{
    super::place::Place,
    arguments::{self, RunOptions, is_given},
};
use crate::{context::Context, failure::Failure, text::sanitize::quoted};
use imagekiln_batch::Scope;

/// The parts of the commands.
pub struct Resume<'a> {
    pub context: &'a Context,
    pub matches: &'a ArgMatches,
    pub options: &'a RunOptions,
    pub place: &'a Place,
}

impl Resume<'_> {
    /// Adds the two ways to continue with a ledger that may not have everything that was paid for.
    pub fn decide(&self, failure: Failure) -> Failure {
        let adopt = self.command_line("adopt", &[]);
        failure.advise(format!(
            "`{adopt}` accepts the pictures of the output, and then the next run continues; \
             `--pay-again` pays for all queued jobs"
        ))
    }

    /// The command that ends a pause.
    pub fn after_pause(&self, scope: &Scope) -> String {
        let option = match scope {
            Scope::Operation(name) => format!(" --model {}", quoted(name)),
            Scope::Group(name) => format!(" --group {}", quoted(name)),
            _ => String::new(),
        };
        format!("kiln batch resume{option} --ledger {}", quoted(&self.place.to_string()))
    }

    /// The command without the jobs, which are in the ledger.
    pub fn command(&self) -> String {
        // --pay-again has no value: a person decides it for one run.
        let elsewhere = ["output", "ledger"];
        let options = arguments::of::<RunOptions>().into_iter().filter(|option| {
            let id = option.get_id().as_str();
            option.get_action().takes_values()
                && !elsewhere.contains(&id)
                && is_given(self.matches, id)
        });
        let words = options.flat_map(|option| {
            let values = self.matches.get_raw(option.get_id().as_str()).into_iter().flatten();
            let values = values.map(|value| value.to_string_lossy().into_owned());
            let flag = format!("--{}", option.get_long().unwrap_or_default());
            values.flat_map(|value| [flag.clone(), value]).collect::<Vec<_>>()
        });
        self.command_line("run", &words.collect::<Vec<_>>())
    }

    /// A command about the same ledger and output.
    fn command_line(&self, command: &str, more: &[String]) -> String {
        let place = self.place.to_string();
        let mut words = vec!["batch", command, "--output", &self.options.output];
        if self.options.ledger.is_some() {
            words.extend(["--ledger", &place]);
        }
        words.extend(more.iter().map(String::as_str));
        self.context.command_line(words)
    }
}
