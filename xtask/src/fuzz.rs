//! `cargo xtask fuzz`: runs the fuzz targets, and records how long each of them has run.

mod record;

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use anyhow::{Context, Result, ensure};
use clap::Args;

use self::record::Run;
use crate::{process::read_lines, proof, repository};

/// The largest input in bytes, that of the kept inputs.
const MAX_INPUT: u32 = 64 * 1024;

/// An input that takes longer is a finding, in seconds.
const TIMEOUT: u32 = 25;

/// Runs fuzz targets one after the other, and adds each run to fuzz/runs.tsv and docs/proof.md.
/// Needs a nightly toolchain and cargo-fuzz
#[derive(Args)]
pub struct Arguments {
    /// The targets; all by default
    targets: Vec<String>,
    /// How long each target runs, in seconds
    #[arg(long, default_value_t = 60)]
    seconds: u32,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let root = repository::root()?;
    let known = targets(&root)?;
    for target in &arguments.targets {
        ensure!(known.contains(target), "`{target}` is not one of {}", known.join(", "));
    }
    let chosen = if arguments.targets.is_empty() { &known } else { &arguments.targets };
    let mut findings = 0;
    for target in chosen {
        let run = fuzz(&root, target, arguments.seconds)?;
        println!("{run}");
        findings += run.findings;
        record::add(&root, &run)?;
    }
    proof::write()?;
    Ok(if findings == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The names of the targets.
fn targets(root: &Path) -> Result<Vec<String>> {
    let folder = root.join("fuzz/fuzz_targets");
    let entries =
        fs::read_dir(&folder).with_context(|| format!("could not read {}", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let path = entry?.path();
        names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

/// The state of a run between sessions, outside of git: build, working corpora and findings.
fn work(root: &Path) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    target.unwrap_or_else(|| root.join("target")).join("fuzz")
}

/// Runs a target until its time is over, or until the first finding.
fn fuzz(root: &Path, target: &str, seconds: u32) -> Result<Run> {
    let (corpus, found) =
        (work(root).join("corpus").join(target), work(root).join("findings").join(target));
    for folder in [&corpus, &found] {
        fs::create_dir_all(folder)
            .with_context(|| format!("could not create {}", folder.display()))?;
    }
    let mut prefix = OsString::from("-artifact_prefix=");
    prefix.push(found.join(""));
    let mut command = Command::new("cargo");
    // The workspace has no unsafe code, and sanitizers halve the number of executions.
    command.args(["+nightly", "fuzz", "run", "--sanitizer", "none", "--target-dir"]);
    command.arg(work(root).join("build")).arg(target).arg(&corpus);
    command.arg(root.join("fuzz/corpus").join(target)).args(["--", "-print_final_stats=1"]);
    command.arg(format!("-max_total_time={seconds}")).arg(format!("-max_len={MAX_INPUT}"));
    command.arg(format!("-timeout={TIMEOUT}")).arg("-print_funcs=0").arg(prefix);
    // cargo sets these for xtask, and they would select its toolchain.
    command.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").env_remove("CARGO_TARGET_DIR");
    let mut run = Run::new(target)?;
    let status = read_lines(command.current_dir(root).stderr(Stdio::piped()), |line| {
        if !run.read(line) {
            eprintln!("{line}");
        }
    })?;
    ensure!(run.executions > 0, "{target} did not run ({status})");
    run.findings = u64::from(!status.success());
    Ok(run)
}
