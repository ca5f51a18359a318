//! Tests that every block of code in the book is compiled or run, and runs its commands. The
//! pictures in the book are those that its commands make.

pub mod blocks;
mod commands;
mod pictures;
mod simulated;
mod story;
mod unknown;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::Value;

use crate::bench::Bench;
use blocks::{Block, blocks};

/// The chapters whose commands this test runs.
pub const RUN: [&str; 5] =
    ["docs/fleet.md", "docs/json.md", "docs/making.md", "docs/testing.md", "docs/users.md"];

/// The pages about kiln, whose commands this test runs, too.
const OF_KILN: [&str; 2] = ["crates/cli/README.md", "docs/kiln.md"];

/// Its files in other languages are compared with those that are tested by the module `testing`.
const OTHER_LANGUAGES: &str = "docs/testing.md";

/// Its program is run by the test `languages`.
const QUEUES: &str = "docs/engines.md";

/// The files that compile programs in Rust as tests of the documentation.
const COMPILED: [&str; 2] = ["src/guide/mod.rs", "crates/batch/src/lib.rs"];

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The paths of all chapters in the repository.
fn chapters() -> Vec<String> {
    let summary = read("docs/SUMMARY.md");
    let entries = summary.lines().filter_map(|line| {
        let line = line.trim_start().trim_start_matches("- ");
        line.strip_prefix('[')?.strip_suffix(')')?.split_once("](")
    });
    entries
        .map(|(_, link)| link.strip_prefix("../").map_or(format!("docs/{link}"), str::to_owned))
        .collect()
}

#[test]
fn every_document_is_a_chapter() {
    let chapters = chapters();
    for folder in ["docs", "docs/simulator", "src/guide"] {
        for entry in fs::read_dir(root().join(folder)).unwrap().map(Result::unwrap) {
            let path = format!("{folder}/{}", entry.file_name().into_string().unwrap());
            let is_page = path.ends_with(".md") && path != "docs/SUMMARY.md";
            assert!(!is_page || chapters.contains(&path), "docs/SUMMARY.md does not list {path}");
        }
    }
}

#[test]
fn every_block_is_compiled_or_run() {
    let bench = Bench::new();
    let mut problems = Vec::new();
    let mut checked = 0;
    for path in chapters() {
        for block in blocks(&read(&path)) {
            checked += 1;
            if let Err(problem) = check(&bench, &path, &block) {
                problems.push(format!("{path}:{}: {problem}", block.line));
            }
        }
    }
    assert_eq!(problems, [""; 0], "{checked} blocks");
    assert!(checked > 100, "found {checked} blocks");
}

fn check(bench: &Bench, path: &str, block: &Block) -> Result<(), String> {
    match block.language.split(',').next().unwrap_or_default() {
        "rust" if is_compiled(path) => Ok(()),
        // A test of the SDK compares its program with that of the documentation's front page.
        "rust" if path == "README.md" => Ok(()),
        "rust" => Err(format!("the page is in none of {COMPILED:?}")),
        "sh" if RUN.contains(&path) || OF_KILN.contains(&path) => Ok(()),
        "sh" if path == unknown::PAGE => Ok(()),
        "sh" => Err("the page is not in RUN".to_owned()),
        "console" => commands::check(bench, &block.code),
        "toml" => block.code.parse::<toml::Table>().map(drop).map_err(|error| error.to_string()),
        "json" => parse_json(&block.code),
        "python" | "js" | "yaml" if path == OTHER_LANGUAGES => Ok(()),
        "python" if path == QUEUES => Ok(()),
        "text" => commands::refuse(&block.code),
        language => Err(format!("no test runs `{language}`")),
    }
}

/// Whether a module includes the page as its documentation.
fn is_compiled(path: &str) -> bool {
    COMPILED.iter().any(|module| {
        let folder = root().join(module).parent().unwrap().to_owned();
        let source = read(module);
        let included = source.split("include_str!(\"").skip(1);
        included.filter_map(|rest| rest.split('"').next()).any(|included| {
            folder.join(included).canonicalize().ok() == root().join(path).canonicalize().ok()
        })
    })
}

/// A document, or one per line.
fn parse_json(text: &str) -> Result<(), String> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    values.try_for_each(|value| value.map(drop)).map_err(|error| error.to_string())
}

#[test]
fn making() {
    runs("docs/making.md");
}

#[test]
fn fleet() {
    runs("docs/fleet.md");
}

#[test]
fn users() {
    runs("docs/users.md");
}

#[test]
fn testing() {
    runs("docs/testing.md");
}

#[test]
fn the_readme_of_kiln() {
    run_commands(OF_KILN[0]);
}

#[test]
fn kiln() {
    run_commands(OF_KILN[1]);
}

/// Runs the commands of a page, and compares the pictures.
fn runs(path: &str) {
    assert!(RUN.contains(&path));
    pictures::compare(&run_commands(path).place, &read(path));
}

/// Runs the commands of a page as a reader does: in one directory, which is empty at first.
fn run_commands(path: &str) -> Bench {
    let bench = Bench::ready_after(Duration::ZERO);
    let page = read(path);
    let scripts: Vec<_> =
        blocks(&page).into_iter().filter(|block| block.language == "sh").collect();
    assert!(!scripts.is_empty());
    for block in scripts {
        if block.code.contains("curl") && !commands::has_curl(&bench) {
            eprintln!("{path}:{}: not run, because it needs curl 7.82", block.line);
            continue;
        }
        let outcome = bench.shell(&block.code);
        assert_eq!(outcome.code, 0, "{path}:{}\n{}", block.line, outcome.stderr);
    }
    bench
}
