//! The commands that continue a run.

use clap::{ArgMatches, Id, parser::ValueSource};

use super::{super::place::Place, metrics::METRICS, webhooks};
use crate::{context::Context, failure::Failure, text::sanitize::quoted};
use imagekiln_batch::Scope;

/// The parts of the commands.
pub struct Resume<'a> {
    pub context: &'a Context,
    pub matches: &'a ArgMatches,
    pub output: &'a str,
    pub place: &'a Place,
}

impl Resume<'_> {
    /// Adds the two ways to continue with a ledger that may not have everything that was paid for.
    pub fn decide(&self, failure: Failure) -> Failure {
        let place = self.place.to_string();
        let mut words = vec!["batch", "adopt", "--output", self.output];
        if self.matches.contains_id("ledger") {
            words.extend(["--ledger", &place]);
        }
        let adopt = self.context.command_line(words);
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
        let place = self.place.to_string();
        let mut words = vec!["batch", "run", "--output", self.output];
        if self.matches.contains_id("ledger") {
            words.extend(["--ledger", &place]);
        }
        let options = self.options();
        for (flag, value) in &options {
            words.extend([flag.as_str(), value]);
        }
        self.context.command_line(words)
    }

    /// The given options that do not describe jobs.
    fn options(&self) -> Vec<(String, String)> {
        let own = ["max-active", "budget", "price", "workers", "archive-after", METRICS];
        let own = own.map(|name| (name.into(), name));
        let webhooks: Vec<_> = webhooks::args().collect();
        let webhooks =
            webhooks.iter().filter_map(|arg| Some((arg.get_id().clone(), arg.get_long()?)));
        let is_given =
            |id: &Id| self.matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        let given = own.into_iter().chain(webhooks).filter(|(id, _)| is_given(id));
        given
            .flat_map(|(id, flag)| {
                let values = self.matches.get_raw(id.as_str()).into_iter().flatten();
                let values = values.map(|value| value.to_string_lossy().into_owned());
                values.map(move |value| (format!("--{flag}"), value)).collect::<Vec<_>>()
            })
            .collect()
    }
}
