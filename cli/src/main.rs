//! `kiln`: pictures of an asynchronous image generation and editing service, from the command line.
//!
//! Models and their flags are built from the contract at run time. Everything that is paid is run
//! to its end, or told so that it can be taken up again.

mod args;
mod commands;
mod context;
mod exit;
mod failure;
mod interrupt;
mod make;
mod report;
mod session;
mod shown;
mod submission;
mod target;
mod tls;
mod trace;
mod usage;
mod voice;
mod waiting;

use std::{env, ffi::OsString, process::ExitCode, time::Duration};

use args::globals::Globals;
use clap::{ArgMatches, FromArgMatches};
use context::Context;
use exit::Exit;
use failure::Failure;
use tokio::runtime::Runtime;

/// What is under way when a command ends (a file being read, a simulator) is not waited for longer
/// than this.
const FAREWELL: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let arguments = args::before::join_booleans(env::args_os().collect());
    let json = args::before::json(&arguments);
    let matches = match usage::parse(&arguments) {
        Ok(matches) => matches,
        Err(usage::Stop::Help(text)) => {
            // Whoever closed standard output did not want to read it.
            let _ = voice::line_on_stdout(text.trim_end());
            return Exit::Success.into();
        }
        Err(usage::Stop::Wrong(text)) if !json => {
            voice::complain(text.trim_end());
            return Exit::Usage.into();
        }
        Err(usage::Stop::Wrong(text)) => return end(Err(usage::failure(&text)), json),
    };
    end(execute(&matches, arguments.first()), json)
}

fn execute(matches: &ArgMatches, program: Option<&OsString>) -> Result<(), Failure> {
    let globals =
        Globals::from_arg_matches(matches).map_err(|error| Failure::usage(error.to_string()))?;
    trace::show(globals.verbose, globals.json);
    let context = Context::new(globals, program);
    let (command, matches) =
        matches.subcommand().ok_or_else(|| Failure::usage("no command is named"))?;
    let runtime =
        Runtime::new().map_err(|error| Failure::other("the runtime did not start", &error))?;
    let outcome = runtime.block_on(commands::execute(&context, command, matches));
    runtime.shutdown_timeout(FAREWELL);
    outcome
}

fn end(outcome: Result<(), Failure>, json: bool) -> ExitCode {
    let Err(failure) = outcome else { return Exit::Success.into() };
    voice::complain(&match json {
        true => report::to_programs(&failure).to_string(),
        false => report::to_people(&failure),
    });
    failure.exit.into()
}
