//! Completion in a shell. The script of the shell runs `kiln __complete SHELL ...` with the words
//! that are typed, and kiln prints what may follow: one candidate per line.
//!
//! Nothing is written and nothing is sent. Files that can't be read offer no candidates.

mod candidates;
mod shell;

use std::{
    ffi::{OsStr, OsString},
    io::Write as _,
};

use clap_complete::Shell;

use crate::{failure::exit::Exit, process::Process};

/// The command that the scripts run. Users have installed scripts of earlier versions, so its
/// arguments and its output must stay as they are.
const COMMAND: &str = "__complete";

/// Completes a command line, if the arguments ask for that.
pub fn run(arguments: &[OsString]) -> Option<Exit> {
    let [_, command, shell, typed @ ..] = arguments else { return None };
    if command != COMMAND {
        return None;
    }
    // An error would be printed into the command line that the user types.
    let Some(shell) = shell.to_str().and_then(|name| name.parse::<Shell>().ok()) else {
        return Some(Exit::Other);
    };
    let typed: Vec<String> = typed.iter().map(|word| lossy(word)).collect();
    let text = shell::complete(shell, &typed);
    // The shell may have stopped reading.
    let _ = Process::current().stdout.write_all(text.as_bytes());
    Some(Exit::Success)
}

/// A word that is not valid Unicode is no flag and no model, and only its place matters.
fn lossy(word: &OsStr) -> String {
    word.to_string_lossy().into_owned()
}
