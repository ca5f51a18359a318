//! The files that a call passes through: those with a function that it runs.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::{process, repository};

/// The place of a function: its file, its line and its column.
type Function = (String, u64, u64);

/// Returns how many functions a test runs in each file, besides those that another test runs. The
/// compiler counts, so calls through traits and generic code are found.
pub fn files(package: &str, test: &str, without: Option<&str>) -> Result<BTreeMap<String, usize>> {
    let mut functions = functions(package, test)?;
    if let Some(without) = without {
        let others = self::functions(package, without)?;
        functions.retain(|function| !others.contains(function));
    }
    let mut files = BTreeMap::new();
    for (file, _, _) in functions {
        *files.entry(file).or_default() += 1;
    }
    Ok(files)
}

fn functions(package: &str, test: &str) -> Result<BTreeSet<Function>> {
    let root = repository::root()?;
    let target = root.join("target/coverage");
    let profiles = target.join("profiles");
    if profiles.exists() {
        fs::remove_dir_all(&profiles).context("could not delete the profiles of the last run")?;
    }
    let cargo = |words: &[&str]| -> Command {
        let mut command = process::cargo(&root, &["test", "--locked", "--all-features", "--tests"]);
        command.args(["--package", package]).args(words).env("CARGO_TARGET_DIR", &target);
        command.env("RUSTFLAGS", "-Cinstrument-coverage");
        command.env("LLVM_PROFILE_FILE", profiles.join("%p-%m.profraw"));
        command
    };
    let built =
        process::output(&mut cargo(&["--no-run", "--message-format=json-render-diagnostics"]))?;
    let printed = process::output(&mut cargo(&["--", "--exact", test]))?;
    ensure!(printed.contains(" 1 passed"), "{package} has no test {test}");

    let merged = target.join("merged.profdata");
    let mut raw = Vec::new();
    for entry in fs::read_dir(&profiles).context("could not read the profiles")? {
        raw.push(entry.context("could not read the profiles")?.path());
    }
    let mut merge = Command::new(tool(&root, "llvm-profdata")?);
    process::succeed(merge.args(["merge", "-sparse", "-o"]).arg(&merged).args(raw))?;
    let mut export = Command::new(tool(&root, "llvm-cov")?);
    export.args(["export", "-instr-profile"]).arg(&merged);
    for line in built.lines() {
        let message: Value = serde_json::from_str(line).context("Cargo did not print JSON")?;
        if let Some(program) = message["executable"].as_str() {
            export.args(["-object", program]);
        }
    }
    let coverage: Value = serde_json::from_str(&process::output(&mut export)?)?;
    Ok(called(&coverage, &root))
}

/// Returns the program of the component `llvm-tools`, which fits the compiler.
fn tool(root: &Path, name: &str) -> Result<PathBuf> {
    let libraries =
        process::output(&mut process::command(root, &["rustc", "--print", "target-libdir"]))?;
    let path = Path::new(libraries.trim()).with_file_name("bin").join(name);
    ensure!(path.exists(), "{name} is missing; run `rustup component add llvm-tools`");
    Ok(path)
}

/// Returns the functions that were called, of those in the `src` folders of the repository.
fn called(coverage: &Value, root: &Path) -> BTreeSet<Function> {
    let functions = coverage["data"][0]["functions"].as_array().into_iter().flatten();
    let functions = functions.filter(|function| function["count"] != 0).filter_map(|function| {
        let path = Path::new(function["filenames"][0].as_str()?);
        let path = path.strip_prefix(root).ok()?.to_str()?;
        let place = |index: usize| function["regions"][0][index].as_u64();
        Some((path.to_owned(), place(0)?, place(1)?))
    });
    let is_source = |path: &str| path.starts_with("src/") || path.contains("/src/");
    let functions = functions.filter(|(path, _, _)| is_source(path));
    functions.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_called_functions_of_sources_count() {
        let function = |count: u64, path: &str| {
            let regions = [[7, 5, 9, 6]];
            json!({ "count": count, "filenames": [path], "regions": regions })
        };
        let functions = [
            function(2, "/repo/src/task/mod.rs"),
            function(0, "/repo/src/task/poll.rs"),
            function(1, "/repo/simulator/src/lib.rs"),
            function(1, "/repo/tests/main.rs"),
            function(1, "/registry/src/crate/lib.rs"),
        ];
        let coverage = json!({ "data": [{ "functions": functions }] });
        let expected =
            ["simulator/src/lib.rs", "src/task/mod.rs"].map(|path| (path.to_owned(), 7, 5));
        assert_eq!(called(&coverage, Path::new("/repo")), expected.into());
    }
}
