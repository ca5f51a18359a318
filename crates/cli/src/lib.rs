//! `kiln`: generates and edits pictures with an asynchronous image generation service.
//!
//! The commands of the models and their flags are built from the contract at run time. A submission
//! that has started runs to its end, and the program always reports a paid task in a way that lets
//! the user resume it.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(all(feature = "gallery", feature = "mcp")),
    allow(dead_code, reason = "for `kiln batch`, `gallery` and `mcp`")
)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing))]

mod args;
mod commands;
mod completion;
mod context;
mod failure;
mod files;
mod history;
#[cfg(feature = "batch")]
mod jobfile;
mod loopback;
mod making;
#[cfg(feature = "mcp")]
mod mcp;
mod models;
mod output;
#[cfg(feature = "batch")]
mod pages;
pub mod process;
mod seeing;
mod service;
mod settings;
mod terminal;
mod text;
mod usage;
mod words;

use std::{ffi::OsString, process::ExitCode, sync::Arc, time::Duration};

use clap::{ArgMatches, FromArgMatches};
use tokio::runtime::Runtime;

use crate::{
    args::options::{Globals, Shared},
    context::Context,
    failure::{Exit, Failure},
    output::{report, report_json},
    process::Process,
    settings::Settings,
    text::{coloured, json},
};

/// How long to wait at exit for work in progress, such as a file read or a simulator.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// The width of help if standard output is not a terminal, and the largest width, beyond which
/// lines are hard to read.
const DEFAULT_WIDTH: usize = 100;
const MAX_WIDTH: usize = 120;

/// Runs the command line of the process.
#[expect(clippy::disallowed_methods, reason = "the command line of the process")]
pub fn run() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if let Some(exit) = completion::run(&arguments) {
        return u8::from(exit).into();
    }
    let process = Arc::new(Process::current());
    match Runtime::new() {
        Ok(runtime) => {
            let code = runtime.block_on(execute(arguments, process));
            runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
            code.into()
        }
        Err(error) => {
            let failure = Failure::other("could not start the async runtime", &error);
            end(&process, Err(failure), usage::json(&arguments)).into()
        }
    }
}

/// Runs a command line, whose first word is the name of the program, and returns the exit code.
pub async fn execute(arguments: Vec<OsString>, process: Arc<Process>) -> u8 {
    let arguments = usage::rewrite(arguments);
    let json = usage::json(&arguments);
    let settings = Settings::load(&process, usage::named(&arguments, "--profile"));
    let model =
        settings.as_ref().ok().and_then(|it| it.model_with(usage::named(&arguments, "--preset")));
    let made_with = |picture: &str| commands::again::made_with(&process, picture);
    let outcome = match usage::parse(&arguments, model, made_with) {
        Ok(matches) => command(&process, &matches, settings, arguments.first()).await,
        Err(usage::Stop::Help(text)) => {
            // Writing fails if the program that reads standard output has closed it, as `head`
            // does, and then needs no more of the text.
            let text = process.stdout.paint().styled(&text);
            let text = coloured(&text, help_width(&process));
            let _ = process.line_on_stdout(text.trim_end());
            return Exit::Success.into();
        }
        Err(usage::Stop::Wrong(text)) if !json => {
            let text = on_stderr(process.stderr.paint().styled(&text), &process);
            process.line_on_stderr(text.trim_end());
            return Exit::Usage.into();
        }
        Err(usage::Stop::Wrong(text)) => Err(usage::failure(&text.to_string())),
    };
    end(&process, outcome, json)
}

/// Wraps a message to the width of the terminal, if standard error is one.
fn on_stderr(text: String, process: &Process) -> String {
    match (process.stderr.columns)() {
        Some(width) => coloured(&text, width),
        None => text,
    }
}

/// Returns the width of help: that of the terminal, or of the variable `COLUMNS`.
fn help_width(process: &Process) -> usize {
    let columns = || process.variable("COLUMNS")?.to_str()?.parse().ok();
    let width = (process.stdout.columns)().or_else(columns).unwrap_or(DEFAULT_WIDTH);
    width.clamp(1, MAX_WIDTH)
}

async fn command(
    process: &Arc<Process>,
    matches: &ArgMatches,
    settings: Result<Settings, Failure>,
    program: Option<&OsString>,
) -> Result<u8, Failure> {
    let globals = Globals::from_arg_matches(matches)?;
    service::log(&process.stderr, globals.verbose, globals.json);
    let settings = match settings {
        Err(_) if !commands::needs_settings(matches.subcommand_name().unwrap_or_default()) => {
            Settings::without_file(process, globals.profile.as_deref())?
        }
        settings => settings?,
    };
    let shared = Shared::from_arg_matches(matches)?;
    let context = Context::new(Arc::clone(process), (globals, shared), settings, program);
    let outcome = commands::execute(&context, matches).await;
    outcome.map_err(|failure| context.settings.explain(failure))
}

/// Reports a failure, and returns the exit code.
fn end(process: &Process, outcome: Result<u8, Failure>, json: bool) -> u8 {
    let failure = match outcome {
        Ok(code) => return code,
        Err(failure) => failure,
    };
    let text = if json {
        json::json_line(&report_json(&failure))
    } else {
        on_stderr(report(&failure, process.stderr.paint()), process)
    };
    process.line_on_stderr(&text);
    failure.exit.into()
}

/// Entry points for the fuzz targets and the tests in a browser: parsers of files, text that is
/// safe for the terminal, and the contact sheet. Not part of the interface.
#[cfg(feature = "__fuzzing")]
#[doc(hidden)]
pub mod fuzzing {
    use std::path::Path;

    use clap::ValueEnum as _;

    use crate::{
        failure::Failure,
        history,
        jobfile::{Defaults, Format, read_from},
        output::report,
        settings,
        terminal::Paint,
    };
    pub use crate::{
        jobfile::FileJob,
        pages::{Item, Kind, Page, Preview, relative_url, sheet::embed},
        text::{json::json_line, one_line},
    };

    /// Returns an error as `kiln` prints it.
    fn printed(failure: Failure) -> String {
        report(&failure, Paint::new(false))
    }

    /// Reads a job file. `None` if there is no such format.
    pub fn job_file(format: &str, file: &[u8]) -> Option<Result<Vec<FileJob>, String>> {
        let format = Format::from_str(format, false).ok()?;
        let defaults = Defaults::new(crate::models::default());
        let read = read_from(file, ("stdin", Path::new("")), format, &defaults);
        Some(read.map(|list| list.jobs).map_err(printed))
    }

    /// Reads `config.toml`. The error is what `kiln` prints.
    pub fn config(text: &str) -> Result<(), String> {
        settings::of_text(Path::new("config.toml"), text).map(drop).map_err(printed)
    }

    /// Reads a submission of the history. Returns its state, and its record as it is written.
    pub fn history(file: &[u8]) -> Option<(&'static str, Vec<u8>)> {
        let entry = history::Entry::new(1, serde_json::from_slice(file).ok()?, false);
        entry.kept.destination.target(Path::new(""));
        Some((entry.state(), serde_json::to_vec(&entry.record).ok()?))
    }
}
