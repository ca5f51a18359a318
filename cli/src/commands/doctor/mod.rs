//! `kiln doctor`: checks whether this machine can use the service. Submits nothing and costs
//! nothing.

mod local;
mod service;

use clap::Args;
use serde_json::{Value, json};

use crate::{
    context::Context,
    failure::{Failure, exit::Exit},
    text::{sanitize::printable, table::Table},
};

pub const NAME: &str = "doctor";

const COST: &str = "\
Submits nothing and costs nothing: the key is checked by polling a task that does
not exist. The exit code is 0 if all is well, and otherwise that of the first
problem.";

/// Check the settings, the connection, the key, the clock and the directories
#[derive(Args)]
#[command(after_help = COST)]
pub struct Options {}

/// The outcome of a check.
struct Check {
    name: &'static str,
    state: State,
}

enum State {
    Ok(String),
    /// Not checked, because something else is missing.
    Skipped(&'static str),
    Problem(Failure),
}

impl Check {
    fn of(name: &'static str, outcome: Result<String, Failure>) -> Self {
        Self { name, state: outcome.map_or_else(State::Problem, State::Ok) }
    }

    fn skipped(name: &'static str, why: &'static str) -> Self {
        Self { name, state: State::Skipped(why) }
    }

    /// The state in a word, and its description. A failure has its causes on one line.
    fn description(&self) -> (&'static str, String) {
        match &self.state {
            State::Ok(text) => ("ok", text.clone()),
            State::Skipped(why) => ("skipped", (*why).to_owned()),
            State::Problem(failure) => {
                let causes = failure.causes.iter().map(|cause| format!(": {cause}"));
                ("problem", failure.message.clone() + &causes.collect::<String>())
            }
        }
    }

    fn failure(&self) -> Option<&Failure> {
        if let State::Problem(failure) = &self.state { Some(failure) } else { None }
    }

    fn advice(&self) -> Option<&str> {
        self.failure()?.advice.as_deref()
    }

    /// The rows of the table: the check, and its advice.
    fn to_people(&self) -> impl Iterator<Item = [String; 3]> {
        let (word, text) = self.description();
        let row = [word.to_owned(), self.name.to_owned(), printable(&text)];
        let advice = self.advice().filter(|advice| !advice.is_empty());
        let advice = advice.map(|advice| [String::new(), String::new(), printable(advice)]);
        [row].into_iter().chain(advice)
    }

    fn to_programs(&self) -> Value {
        let (word, text) = self.description();
        json!({ "name": self.name, "state": word, "message": text, "advice": self.advice() })
    }
}

fn problem(exit: Exit, text: impl Into<String>, advice: impl Into<String>) -> Failure {
    let mut failure = Failure::settings(text).advise(advice);
    failure.exit = exit;
    failure
}

pub async fn run(context: &Context, _: Options) -> Result<u8, Failure> {
    let process = context.process();
    let (settings, read) = match context.settings.reload() {
        Ok(settings) => (settings.clone(), Ok(local::settings(&settings))),
        Err(failure) => (context.settings.clone(), Err(failure)),
    };
    let is_read = read.is_ok();
    let mut checks = vec![Check::of("settings", read)];
    checks.extend(local::directories(process, &settings));
    checks.push(Check::of("terminal", Ok(local::terminal(process))));
    if is_read {
        checks.extend(service::checks(context).await);
    } else {
        checks.extend(service::skipped(0, "the settings could not be read"));
    }
    let exit = checks.iter().find_map(Check::failure).map(|failure| failure.exit);
    context.output.result(
        || {
            let table = Table::new(checks.iter().flat_map(Check::to_people)).wrapped(&[2]);
            table.text((context.process().stdout.columns)())
        },
        || {
            let list: Vec<_> = checks.iter().map(Check::to_programs).collect();
            json!({ "ok": exit.is_none(), "checks": list })
        },
    )?;
    Ok(exit.unwrap_or(Exit::Success).code())
}
