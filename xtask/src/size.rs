//! `cargo xtask size`: measures the size of the project in the same way every time.

use std::{collections::BTreeMap, process::ExitCode};

use anyhow::Result;
use clap::Args;

use crate::{
    contract,
    repository::{self, CONTRACT},
    tidy::sources::{self, CRATES},
};

/// Prints the lines of code by folder, and the generated lines. Blank lines, comments and unit
/// tests do not count as code
#[derive(Args)]
pub struct Arguments {}

/// The counts for a folder.
#[derive(Default)]
struct Size {
    files: usize,
    code: usize,
    lines: usize,
}

pub fn run(_: &Arguments) -> Result<ExitCode> {
    let folders = folders()?;
    println!("{:<40} {:>7} {:>7} {:>7}", "folder", "files", "code", "lines");
    for (name, size) in &folders {
        println!("{name:<40} {:>7} {:>7} {:>7}", size.files, size.code, size.lines);
    }
    let code: usize = CRATES.iter().filter_map(|name| folders.get(*name)).map(|s| s.code).sum();
    println!("\n{code} lines of code in all crates");
    println!("{} lines of generated code (generated.rs)", generated_lines()?);
    Ok(ExitCode::SUCCESS)
}

fn folders() -> Result<BTreeMap<String, Size>> {
    let mut folders: BTreeMap<String, Size> = BTreeMap::new();
    for source in sources::read()? {
        let lines = source.text.lines().count();
        let name = match source.crate_folder() {
            Some(folder) => folder.to_owned(),
            None => format!("{} (tests, examples)", folder_of(&source.path)),
        };
        // The parts of the SDK are as large as other crates.
        let part = source.path.strip_prefix("src/").and_then(|path| path.split_once('/'));
        let part = part.map(|(part, _)| format!("src/{part}"));
        for name in [Some(name), part].into_iter().flatten() {
            let size = folders.entry(name).or_default();
            size.files += 1;
            size.code += source.code_lines();
            size.lines += lines;
        }
    }
    Ok(folders)
}

/// Returns the folder of a crate, such as `xtask` and `crates/cli`.
fn folder_of(path: &str) -> &str {
    let depth =
        if ["crates/", "tools/"].iter().any(|above| path.starts_with(above)) { 1 } else { 0 };
    path.match_indices('/').nth(depth).map_or(path, |(end, _)| &path[..end])
}

fn generated_lines() -> Result<usize> {
    Ok(contract::generate(&repository::read(CONTRACT)?)?.lines().count())
}
