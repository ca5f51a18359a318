//! Completion in a shell. The script of the shell runs `kiln __complete SHELL ...` with the words
//! that are typed, and kiln prints what may follow: one candidate per line.
//!
//! Nothing is written, nothing is sent, and what can't be read offers nothing.

mod candidates;
mod shell;
pub mod values;
mod words;

use std::{
    ffi::{OsStr, OsString},
    io::{self, Write as _},
    process::ExitCode,
};

use clap_complete::Shell;

pub use self::shell::script;

/// The command that the scripts run. Users have installed scripts of earlier versions, so its
/// arguments and its output must stay as they are.
const COMMAND: &str = "__complete";

/// Completes a command line, if the arguments ask for that.
pub fn run(arguments: &[OsString]) -> Option<ExitCode> {
    let [_, command, shell, typed @ ..] = arguments else { return None };
    if command != COMMAND {
        return None;
    }
    // An error would be printed into the command line that the user types.
    let Some(shell) = shell.to_str().and_then(|name| name.parse::<Shell>().ok()) else {
        return Some(ExitCode::FAILURE);
    };
    let typed: Vec<String> = typed.iter().map(|word| lossy(word)).collect();
    let text = shell::complete(shell, &typed);
    // The shell may have stopped reading.
    let _ = io::stdout().write_all(text.as_bytes());
    Some(ExitCode::SUCCESS)
}

/// A word that is not valid Unicode is no flag and no model, and only its place matters.
fn lossy(word: &OsStr) -> String {
    word.to_string_lossy().into_owned()
}
