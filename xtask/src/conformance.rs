//! `cargo xtask conformance`: runs the package `imagekiln-conformance`. It is a separate package,
//! because it needs the SDK, which does not compile while the contract is broken.

use std::{ffi::OsString, path::Path, process::ExitCode};

use anyhow::Result;
use clap::Args;

use crate::{
    process::{cargo, status},
    repository,
};

/// Compares recordings of the service (`kiln --record DIR`) with the contract and the types.
/// `cargo xtask conformance --help` lists the options
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct Arguments {
    /// The directory with the recordings, and options
    #[arg(value_name = "DIRECTORY", trailing_var_arg = true, allow_hyphen_values = true)]
    passed_on: Vec<OsString>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    // The current directory stays, because the path of the recordings is relative to it.
    let mut command = cargo(Path::new("."), &["run", "--quiet", "--package"]);
    command.args(["imagekiln-conformance", "--manifest-path"]);
    command.arg(repository::root()?.join("Cargo.toml")).arg("--").args(&arguments.passed_on);
    // The exit code is that of the comparison. Any other, such as that of a failed build, means
    // that nothing was compared.
    Ok(match status(&mut command)?.code() {
        Some(code @ (0 | 1)) => ExitCode::from(code as u8),
        _ => ExitCode::from(2),
    })
}
