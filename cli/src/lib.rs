//! `kiln`: generates and edits pictures with an asynchronous image generation service.
//!
//! Models and their flags are built from the contract at run time. A submission is run to its end,
//! and a paid task is always reported so that it can be resumed.

#![cfg_attr(not(feature = "batch"), allow(dead_code, reason = "for `kiln batch`"))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing))]

mod args;
mod base_url;
mod commands;
mod completion;
mod context;
mod directory;
mod exit;
mod failure;
#[cfg(feature = "__fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod hidden;
mod history;
mod interrupt;
#[cfg(feature = "batch")]
mod jobs;
mod json;
mod keyring;
mod live;
mod make;
mod output;
mod paint;
mod plan;
mod plausible;
mod preview;
mod record;
mod report;
mod retries;
mod sanitize;
mod secret_file;
mod seeing;
mod session;
mod settings;
mod several;
mod similar;
mod spinner;
mod submission;
mod target;
mod tls;
mod trace;
mod usage;
mod wait;
mod webhook_secret;

use std::{env, ffi::OsString, process::ExitCode, time::Duration};

use clap::{ArgMatches, FromArgMatches};
use tokio::runtime::Runtime;

use crate::{
    args::globals::Globals, context::Context, exit::Exit, failure::Failure, paint::Paint,
    settings::Settings,
};

/// How long to wait at exit for work in progress, such as a file read or a simulator.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Runs the command line of the process.
pub fn run() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().collect();
    if let Some(code) = completion::run(&arguments) {
        return code;
    }
    let arguments = args::before::join_booleans(arguments);
    let arguments = args::before::fill_models(arguments);
    let arguments = args::before::spell_help(arguments);
    let json = args::before::json(&arguments);
    let settings = Settings::load(args::before::profile(&arguments));
    let model = settings.as_ref().ok().and_then(Settings::model);
    let matches = match usage::parse(&arguments, model) {
        Ok(matches) => matches,
        Err(usage::Stop::Help(text)) => {
            // A closed standard output is not an error.
            let _ = output::line_on_stdout(Paint::on_stdout().styled(&text).trim_end());
            return Exit::Success.into();
        }
        Err(usage::Stop::Wrong(text)) if !json => {
            output::line_on_stderr(Paint::on_stderr().styled(&text).trim_end());
            return Exit::Usage.into();
        }
        Err(usage::Stop::Wrong(text)) => return end(Err(usage::failure(&text.to_string())), json),
    };
    end(execute(&matches, settings, arguments.first()), json)
}

fn execute(
    matches: &ArgMatches,
    settings: Result<Settings, Failure>,
    program: Option<&OsString>,
) -> Result<ExitCode, Failure> {
    let globals =
        Globals::from_arg_matches(matches).map_err(|error| Failure::usage(error.to_string()))?;
    trace::show(globals.verbose, globals.json);
    let (command, matches) =
        matches.subcommand().ok_or_else(|| Failure::usage("no command given"))?;
    let settings = match settings {
        Err(_) if !commands::needs_settings(command) => {
            Settings::without_file(globals.profile.as_deref())?
        }
        settings => settings?,
    };
    let context = Context::new(globals, settings, program);
    let runtime = Runtime::new()
        .map_err(|error| Failure::other("could not start the async runtime", &error))?;
    let outcome = runtime.block_on(commands::execute(&context, command, matches));
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    outcome.map_err(|failure| context.settings.explain(failure))
}

fn end(outcome: Result<ExitCode, Failure>, json: bool) -> ExitCode {
    let failure = match outcome {
        Ok(code) => return code,
        Err(failure) => failure,
    };
    output::line_on_stderr(&match json {
        true => sanitize::json_line(&report::to_programs(&failure)),
        false => report::to_people(&failure),
    });
    failure.exit.into()
}
