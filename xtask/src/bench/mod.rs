//! `cargo xtask bench`: runs all benchmarks, and writes their figures into `docs/performance.md`.
//! `cargo xtask bench peers` compares whole programs.

mod figure;
mod machine;
mod page;
mod peers;
mod rows;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{ExitCode, Stdio},
};

use anyhow::{Context, Result, ensure};
use clap::{Args, Subcommand};

use crate::{
    process::{cargo, read_lines, succeed},
    repository, size,
};

/// The page with the figures, in the repository.
const PAGE: &str = "docs/performance.md";

/// The arguments of `cargo` for each benchmark, which prints its figures.
const BENCHMARKS: [&str; 5] = [
    "bench --bench client",
    "bench --bench memory",
    "bench --package imagekiln-batch --bench fleet",
    "bench --package imagekiln-cli --bench hundred",
    "bench --package imagekiln-simulator --bench load -- --seconds 20 --no-attacks",
];

/// Runs all benchmarks, and writes their figures into docs/performance.md, on a quiet machine
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    comparison: Option<Comparison>,
    /// Read the figures from a file that an earlier run wrote, instead of running the benchmarks
    #[arg(long)]
    from: Option<PathBuf>,
    /// Where to write the figures
    #[arg(long, default_value = "target/figures.tsv")]
    figures: PathBuf,
}

#[derive(Subcommand)]
enum Comparison {
    Peers(peers::Arguments),
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if let Some(Comparison::Peers(arguments)) = &arguments.comparison {
        return peers::run(arguments);
    }
    let root = repository::root()?;
    let lines = match &arguments.from {
        Some(path) => fs::read_to_string(path)
            .with_context(|| format!("could not read {}", path.display()))?,
        None => measure(&root, &root.join(&arguments.figures))?,
    };
    let page = page::render(&repository::read(PAGE)?, &lines)?;
    fs::write(root.join(PAGE), page).with_context(|| format!("could not write {PAGE}"))?;
    println!("wrote {PAGE}");
    for name in page::missing(&lines) {
        println!("no benchmark printed the figure `{name}`");
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the benchmarks, and returns a description of the machine and all their figures, which are
/// in a file after each benchmark.
fn measure(root: &Path, file: &Path) -> Result<String> {
    // Built first, so that no compiler runs during a measurement.
    for arguments in BENCHMARKS {
        let build: Vec<_> = arguments.split(' ').take_while(|argument| *argument != "--").collect();
        succeed(cargo(root, &build).arg("--no-run"))?;
    }
    let mut lines = machine::describe() + &size::figures()?;
    for arguments in BENCHMARKS {
        let mut command = cargo(root, &arguments.split(' ').collect::<Vec<_>>());
        let status = read_lines(command.stdout(Stdio::piped()), |line| {
            println!("{line}");
            lines += &format!("{line}\n");
        })?;
        fs::write(file, &lines).with_context(|| format!("could not write {}", file.display()))?;
        ensure!(status.success(), "{command:?} failed");
    }
    Ok(lines)
}
