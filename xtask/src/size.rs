//! `cargo xtask size`: measures the size of the project in the same way every time.

use std::{collections::BTreeMap, process::ExitCode};

use anyhow::Result;
use clap::Args;

use crate::{
    contract,
    repository::{self, CONTRACT},
    through,
    tidy::sources::{self, CRATES},
};

/// Prints the lines of code by folder, the generated lines, and the bytes of the documents. Blank
/// lines, comments and unit tests do not count as code
#[derive(Args)]
pub struct Arguments {
    /// Prints the files that a test passes through instead. Needs the component `llvm-tools`
    #[arg(long, value_name = "TEST")]
    through: Option<String>,
    /// A test whose calls do not count
    #[arg(long, value_name = "TEST", requires = "through")]
    without: Option<String>,
    /// The package of the tests
    #[arg(long, default_value = "imagekiln", requires = "through")]
    package: String,
}

/// The counts for a folder.
#[derive(Default)]
struct Size {
    files: usize,
    code: usize,
    lines: usize,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if let Some(test) = &arguments.through {
        let files = through::files(&arguments.package, test, arguments.without.as_deref())?;
        let mut folders = BTreeMap::<_, usize>::new();
        for (file, functions) in &files {
            println!("{functions:>4} functions of {file}");
            let folder = file.split_once("src/").map_or("", |(folder, _)| folder);
            *folders.entry(format!("{folder}src")).or_default() += 1;
        }
        for (folder, files) in folders {
            println!("{files} files of {folder}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut folders: BTreeMap<String, Size> = BTreeMap::new();
    for source in sources::read()? {
        let lines = source.text.lines().count();
        let name = match source.crate_folder() {
            Some(folder) => folder.to_owned(),
            None => format!("{} (tests, examples)", source.path.split('/').next().unwrap_or("")),
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
    println!("{:<40} {:>7} {:>7} {:>7}", "folder", "files", "code", "lines");
    for (name, size) in &folders {
        println!("{name:<40} {:>7} {:>7} {:>7}", size.files, size.code, size.lines);
    }
    let code: usize = CRATES.iter().filter_map(|name| folders.get(*name)).map(|s| s.code).sum();
    println!("\n{code} lines of code in all crates");
    let generated = contract::generate(&repository::read(CONTRACT)?)?;
    println!("{} lines of generated code (generated.rs)", generated.lines().count());
    let mut bytes = 0;
    let documents = sources::files(&["*.md"])?;
    for path in &documents {
        bytes += repository::read(path)?.len();
    }
    println!("{bytes} bytes in {} documents (*.md)", documents.len());
    Ok(ExitCode::SUCCESS)
}
