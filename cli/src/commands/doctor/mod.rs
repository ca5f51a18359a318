//! `kiln doctor`: checks whether this machine can use the service. Submits nothing and costs
//! nothing.

mod local;
mod service;

use clap::Command;
use serde_json::{Value, json};

use crate::{
    context::Context,
    failure::{Failure, exit::Exit},
    settings::Settings,
    text::{sanitize::printable, table::Table},
};

pub const NAME: &str = "doctor";

pub fn command() -> Command {
    Command::new(NAME)
        .about("Check the settings, the connection, the key, the clock and the directories")
        .after_help(
            "Submits nothing and costs nothing: the key is checked by polling a task that does\n\
             not exist. The exit code is 0 if all is well, and otherwise that of the first\n\
             problem.",
        )
}

/// The outcome of a check.
struct Check {
    name: &'static str,
    state: State,
    text: String,
}

enum State {
    Ok,
    /// Not checked, because something else is missing.
    Skipped,
    Problem {
        advice: String,
        exit: Exit,
    },
}

impl Check {
    fn ok(name: &'static str, text: impl Into<String>) -> Self {
        Self { name, state: State::Ok, text: text.into() }
    }

    fn skipped(name: &'static str, text: impl Into<String>) -> Self {
        Self { name, state: State::Skipped, text: text.into() }
    }

    fn problem(
        name: &'static str,
        exit: Exit,
        text: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { name, state: State::Problem { advice: advice.into(), exit }, text: text.into() }
    }

    /// A failure with its causes on one line.
    fn failed(name: &'static str, failure: &Failure) -> Self {
        let causes = failure.causes.iter().map(|cause| format!(": {cause}")).collect::<String>();
        let advice = failure.advice.clone().unwrap_or_default();
        Self::problem(name, failure.exit, failure.message.clone() + &causes, advice)
    }

    fn word(&self) -> &'static str {
        match self.state {
            State::Ok => "ok",
            State::Skipped => "skipped",
            State::Problem { .. } => "problem",
        }
    }

    /// The rows of the table: the check, and its advice.
    fn to_people(&self) -> impl Iterator<Item = [String; 3]> {
        let advice = match &self.state {
            State::Problem { advice, .. } => Some(advice).filter(|advice| !advice.is_empty()),
            _ => None,
        };
        let row = [self.word().to_owned(), self.name.to_owned(), printable(&self.text)];
        let advice = advice.map(|advice| [String::new(), String::new(), printable(advice)]);
        [row].into_iter().chain(advice)
    }

    fn to_programs(&self) -> Value {
        let advice = match &self.state {
            State::Problem { advice, .. } => Some(advice),
            _ => None,
        };
        json!({
            "name": self.name, "state": self.word(), "message": self.text, "advice": advice,
        })
    }
}

pub async fn execute(context: &Context) -> Result<u8, Failure> {
    let mut checks = Vec::new();
    match Settings::load(context.process(), context.globals.profile.as_deref()) {
        Ok(settings) => {
            checks.push(local::settings(&settings));
            checks.extend(local::directories(context.process(), &settings));
            checks.push(local::terminal(context.process()));
            checks.extend(service::checks(context).await);
        }
        Err(failure) => {
            checks.push(Check::failed("settings", &failure));
            checks.extend(local::directories(context.process(), &context.settings));
            checks.push(local::terminal(context.process()));
            let skipped = |name| Check::skipped(name, "the settings could not be read");
            checks.extend(service::NAMES.map(skipped));
        }
    }
    let exit = checks.iter().find_map(|check| match check.state {
        State::Problem { exit, .. } => Some(exit),
        _ => None,
    });
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
