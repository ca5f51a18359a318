//! `cargo xtask windows`: builds `kiln` for Windows, and runs it and the SDK's tests with Wine.

use std::{
    fs,
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};
use clap::Args;

use crate::{
    binary,
    process::{cargo, command, succeed},
    repository,
};

const TARGET: &str = "x86_64-pc-windows-gnu";
const COMPILER: &str = "x86_64-w64-mingw32-gcc";
const LIBRARY: &str = "xtask/src/windows/bcryptprimitives.c";

/// Builds `kiln` for Windows, generates the README's picture with it, and runs the tests of the
/// SDK, all with Wine. Needs `apt-get install gcc-mingw-w64-x86-64 wine wine64`
#[derive(Args)]
pub struct Arguments {}

pub fn run(_: &Arguments) -> Result<ExitCode> {
    let root = repository::root()?;
    let kiln = binary::build(TARGET, &[], "debug")?.with_extension("exe");
    let folder = tempfile::tempdir().context("could not create a temporary folder")?;
    let prefix = folder.path().join("wine");
    prepare(&root, &prefix)?;
    let pictures = folder.path().join("pictures");
    fs::create_dir(&pictures).context("could not create a folder for the picture")?;
    let mut start = wine(&prefix);
    start.arg(&kiln);
    binary::check_picture(start, &pictures)?;
    let mut tests = cargo(&root, &["test", "--locked", "--package", "imagekiln", "--lib"]);
    tests.args(["--test", "integration", "--target", TARGET, "--target-dir"]);
    tests.arg(root.join("target"));
    tests.env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", "wine");
    // `insta` finds the snapshots with it otherwise, and there is no cargo for Windows here.
    tests.env("INSTA_WORKSPACE_ROOT", &root);
    succeed(with_prefix(&mut tests, &prefix))?;
    println!("{} made docs/fox.png, and the tests of the SDK passed", kiln.display());
    Ok(ExitCode::SUCCESS)
}

/// Creates Wine's folder as Windows 10.
fn prepare(root: &Path, prefix: &Path) -> Result<()> {
    succeed(wine(prefix).args(["wineboot", "--init"]))?;
    succeed(wine(prefix).args(["winecfg", "/v", "win10"]))?;
    let library = prefix.join("drive_c/windows/system32/bcryptprimitives.dll");
    let mut compile = command(root, &[COMPILER, "-shared", "-o"]);
    succeed(compile.arg(library).args([LIBRARY, "-ladvapi32"]))
}

fn wine(prefix: &Path) -> Command {
    let mut command = Command::new("wine");
    with_prefix(&mut command, prefix);
    command
}

/// Without a display, Wine complains about windows that it can't open.
fn with_prefix<'a>(command: &'a mut Command, prefix: &Path) -> &'a mut Command {
    command.env("WINEPREFIX", prefix).env("WINEDEBUG", "-all")
}
