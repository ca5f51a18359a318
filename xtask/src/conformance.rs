//! `cargo xtask conformance`: runs the package `imagekiln-conformance`. It is a package of its own
//! because it needs the SDK, which does not compile while the contract is broken.

use std::{
    path::PathBuf,
    process::{Command, ExitCode, ExitStatus},
};

use anyhow::{Context, Result};
use clap::Args;

use crate::repository;

/// Compares recordings of the service (`kiln --record DIR`) with the contract and the types
#[derive(Args)]
pub struct Arguments {
    /// The directory with the recordings
    directory: PathBuf,
    /// Expect this status of tasks in progress, in addition to `Pending` and `Processing`
    #[arg(long, value_name = "STATUS")]
    in_progress: Vec<String>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // The current directory stays, because the path of the recordings is relative to it.
    let manifest = repository::root()?.join("Cargo.toml");
    command.args(["run", "--quiet", "--package", "imagekiln-conformance", "--manifest-path"]);
    command.arg(manifest);
    command.arg("--");
    for status in &arguments.in_progress {
        command.arg(format!("--in-progress={status}"));
    }
    let status = command.arg("--").arg(&arguments.directory).status();
    Ok(exit_code(status.context("could not start cargo run")?))
}

/// Passes on the exit code of the comparison. Any other, such as that of a failed build, means that
/// nothing was compared.
fn exit_code(status: ExitStatus) -> ExitCode {
    match status.code() {
        Some(0) => ExitCode::SUCCESS,
        Some(1) => ExitCode::FAILURE,
        _ => ExitCode::from(2),
    }
}
