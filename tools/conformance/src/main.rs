//! The program behind `cargo conformance`.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use clap::Parser;

use imagekiln_conformance::{Document, IN_PROGRESS, check, collapsed, read};

/// Compares recordings of the service (`kiln --record DIR`) with the contract and the types
#[derive(Parser)]
#[command(name = "conformance", bin_name = "cargo conformance")]
struct Arguments {
    /// The directory with the recordings
    directory: PathBuf,
    /// Expect this status of tasks in progress, in addition to `Pending` and `Processing`
    #[arg(long, value_name = "STATUS")]
    in_progress: Vec<String>,
}

fn main() -> ExitCode {
    run(Arguments::parse()).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(2)
    })
}

fn run(arguments: Arguments) -> Result<ExitCode> {
    let document = Document::load()?;
    let (files, unreadable) = read(&arguments.directory)?;
    let expected = IN_PROGRESS.map(str::to_owned).into_iter().chain(arguments.in_progress);
    let expected: Vec<_> = expected.collect();
    let findings = files.iter().flat_map(|file| check(&document, &expected, file)).collect();
    let groups = collapsed(findings);
    for (finding, count) in &groups {
        match count {
            1 => println!("{finding}"),
            _ => println!("{finding} ({count} times)"),
        }
    }
    for file in &unreadable {
        eprintln!("error: {}: {:#}", file.name, file.error);
    }
    println!("recordings: {}, findings: {}", files.len(), groups.len());
    Ok(match (unreadable.is_empty(), groups.is_empty()) {
        (false, _) => ExitCode::from(2),
        (true, false) => ExitCode::FAILURE,
        (true, true) => ExitCode::SUCCESS,
    })
}
