//! `cargo xtask static-binary`: builds `kiln` as the `Dockerfile` does, and runs it.

use std::{
    fs,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::binary;

const TARGET: &str = "x86_64-unknown-linux-musl";

/// Builds `kiln` as one static program for Linux, and generates the README's picture with it,
/// without any environment. Needs musl-gcc (`apt-get install musl-tools`)
#[derive(Args)]
pub struct Arguments {}

pub fn run(_: &Arguments) -> Result<ExitCode> {
    let built = binary::build(TARGET, &["--release"], "release")?;
    let folder = tempfile::tempdir().context("could not create a temporary folder")?;
    let kiln = folder.path().join("kiln");
    let bytes =
        fs::copy(&built, &kiln).with_context(|| format!("could not copy {}", built.display()))?;
    let libraries = Command::new("ldd").arg(&kiln).output().context("could not run ldd")?;
    let is_static = String::from_utf8_lossy(&libraries.stdout).contains("statically linked");
    ensure!(is_static, "{} is not static", kiln.display());
    let mut start = Command::new(&kiln);
    start.env_clear();
    binary::check_picture(start, folder.path())?;
    println!("{} is static, has {bytes} bytes, and made docs/fox.png", built.display());
    Ok(ExitCode::SUCCESS)
}
