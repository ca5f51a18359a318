//! `cargo xtask static-binary`: builds `kiln` as the `Dockerfile` does, and runs it.

use std::{
    fs,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::{process::succeed, repository};

const TARGET: &str = "x86_64-unknown-linux-musl";

/// Builds `kiln` as one static program for Linux, and generates the README's picture with it,
/// without any environment. Needs musl-gcc (`apt-get install musl-tools`)
#[derive(Args)]
pub struct Arguments {}

pub fn run(_: &Arguments) -> Result<ExitCode> {
    let root = repository::root()?;
    succeed(Command::new("rustup").args(["target", "add", TARGET]))?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let build =
        ["build", "--release", "--locked", "--package", "imagekiln-cli", "--target", TARGET];
    let target = root.join("target");
    let mut command = Command::new(cargo);
    command
        .args(build)
        .args(["--features", "keyring"])
        .arg("--target-dir")
        .arg(&target)
        .current_dir(&root);
    succeed(&mut command)?;
    let built = target.join(TARGET).join("release/kiln");
    let folder = tempfile::tempdir().context("could not create a temporary folder")?;
    let kiln = folder.path().join("kiln");
    let bytes =
        fs::copy(&built, &kiln).with_context(|| format!("could not copy {}", built.display()))?;
    let libraries = Command::new("ldd").arg(&kiln).output().context("could not run ldd")?;
    let is_static = String::from_utf8_lossy(&libraries.stdout).contains("statically linked");
    ensure!(is_static, "{} is not static", kiln.display());

    let mut generate = Command::new(&kiln);
    generate.env_clear().env("KILN_STATE_DIR", folder.path()).current_dir(&folder).args([
        "simulate",
        "--ready-after",
        "0",
        "--",
    ]);
    generate.arg(&kiln).args(["generate", "a red fox in the snow", "--output", "fox.png"]);
    succeed(generate.args(["--width", "1024", "--height", "768", "--seed", "7"]))?;
    let picture = fs::read(folder.path().join("fox.png")).context("could not read the picture")?;
    let expected = fs::read(root.join("docs/fox.png")).context("could not read docs/fox.png")?;
    ensure!(picture == expected, "the picture differs from docs/fox.png");
    println!("{} is static, has {bytes} bytes, and made docs/fox.png", built.display());
    Ok(ExitCode::SUCCESS)
}
