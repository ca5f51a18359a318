//! Other programs.

use std::{
    env,
    path::Path,
    process::{Command, ExitCode, ExitStatus},
};

use anyhow::{Context, Result, ensure};

/// Returns the command that these words are, in a folder.
pub fn command(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(folder);
    command
}

/// Returns a command of the Cargo that runs this program, in a folder.
pub fn cargo(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(words).current_dir(folder);
    command
}

/// Runs a command until it ends.
pub fn status(command: &mut Command) -> Result<ExitStatus> {
    command.status().with_context(|| format!("could not start {command:?}"))
}

/// Returns success for a program that succeeded, and failure for any other.
pub fn exit_code(status: ExitStatus) -> ExitCode {
    if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs a command that must succeed.
pub fn succeed(command: &mut Command) -> Result<()> {
    ensure!(status(command)?.success(), "{command:?} failed");
    Ok(())
}

/// Runs a command that must succeed, and returns its output.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("could not start {command:?}"))?;
    let problem = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} failed: {problem}");
    String::from_utf8(output.stdout).with_context(|| format!("{command:?} did not print UTF-8"))
}
