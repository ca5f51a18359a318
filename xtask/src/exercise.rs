//! `cargo xtask exercise`: changes the contract in a copy of the repository, and shows the files
//! that change with it.

use std::{
    env, fs,
    fs::OpenOptions,
    io::Write,
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;

use crate::{
    contract, interface, names, process,
    repository::{self, CONTRACT},
};

/// The folder with the endpoints and fields to add, and with their tests.
const ADDITIONS: &str = "xtask/exercise";

/// The lists that get further rows.
const EXTENDED_LISTS: [&str; 3] = ["operations.tsv", "fields.tsv", "responses.tsv"];

/// The most files that the change may touch.
const MOST_FILES: usize = 8;

/// Adds endpoints with images and enums, an endpoint of an existing kind, final statuses, and poll
/// fields to a copy of the repository. Regenerates the copy, runs all its tests, and prints the
/// files that changed. Then compiles a contract with odd names
#[derive(Args)]
pub struct Arguments {}

pub fn run(_: &Arguments) -> Result<ExitCode> {
    let root = repository::root()?;
    let copy = root.join("target/exercise");
    copy_repository(&root, &copy)?;
    add_tests(&copy)?;
    git(&copy, &["init", "--quiet"])?;
    git(&copy, &["add", "--all"])?;
    add_endpoints(&copy)?;
    println!("regenerating {} ...", copy.display());
    let build = root.join("target/exercise-build");
    let xtask = |words: &[&str]| {
        let this = env::current_exe().context("could not find this program")?;
        let mut command = Command::new(this);
        // Cargo would confuse the builds of two checkouts in one folder. This folder stays for the
        // next exercise.
        command.args(words).current_dir(&copy).env("CARGO_TARGET_DIR", &build);
        // The tests of the check make all mutations here, and few in `cargo test`.
        command.env("IMAGEKILN_MUTATIONS", "all");
        process::succeed(&mut command)
    };
    // The list of models has a line for each endpoint. No other snapshot may differ.
    let regenerated =
        xtask(&["regenerate"]).and_then(|()| accept_models(&copy)).and_then(|()| xtask(&["check"]));
    if let Err(error) = &regenerated {
        println!("{error:#}");
    }
    let mut changed = git(&copy, &["diff", "--name-only"])?;
    changed += &git(&copy, &["ls-files", "--others", "--exclude-standard"])?;
    print!("changed files:\n{changed}");
    let count = changed.lines().count();
    println!("{count} files changed, at most {MOST_FILES} may");
    println!("compiling a contract with odd names ...");
    let contract = contract::parse(&read(&root.join(CONTRACT))?)?;
    let document = names::document(&contract, &repository::read(names::PATH)?);
    write(&copy.join(CONTRACT), &document)?;
    let compiled = process::succeed(
        process::cargo(&copy, &["check", "--package", "imagekiln", "--all-features"])
            .env("CARGO_TARGET_DIR", &build),
    );
    if let Err(error) = &compiled {
        println!("{error:#}");
    }
    let is_right = regenerated.is_ok() && compiled.is_ok() && count <= MOST_FILES;
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Takes the new list of models.
fn accept_models(copy: &Path) -> Result<()> {
    for path in git(copy, &["ls-files", "--others", "*__models.snap.new"])?.lines() {
        let new = copy.join(path);
        fs::rename(&new, new.with_extension("")).with_context(|| path.to_owned())?;
    }
    Ok(())
}

/// Copies all files except ignored ones, as an index of git of its own lists them.
fn copy_repository(root: &Path, copy: &Path) -> Result<()> {
    let index = copy.with_extension("index");
    for old in [copy, &index].into_iter().filter(|old| old.exists()) {
        let removed = if old.is_dir() { fs::remove_dir_all(old) } else { fs::remove_file(old) };
        removed.with_context(|| format!("could not remove {}", old.display()))?;
    }
    let prefix = format!("--prefix={}/", copy.display());
    for words in [&["add", "--all"][..], &["checkout-index", "--all", &prefix]] {
        let mut git = process::command(root, &["git"]);
        process::succeed(git.args(words).env("GIT_INDEX_FILE", &index))?;
    }
    Ok(())
}

fn add_tests(copy: &Path) -> Result<()> {
    let tests = read(&copy.join(ADDITIONS).join("tests.rs"))?;
    append(&copy.join("tests/integration/exercise.rs"), &tests)?;
    append(&copy.join("tests/integration/main.rs"), "mod exercise;\n")
}

fn add_endpoints(copy: &Path) -> Result<()> {
    let additions = copy.join(ADDITIONS);
    let path = copy.join(CONTRACT);
    let mut document: Value = serde_json::from_str(&read(&path)?)?;
    merge(&mut document, serde_json::from_str(&read(&additions.join(CONTRACT))?)?);
    write(&path, &document)?;
    for list in EXTENDED_LISTS {
        append(&copy.join(interface::FOLDER).join(list), &read(&additions.join(list))?)?;
    }
    Ok(())
}

/// Adds the members of `additions` to those of `value`, at every depth.
fn merge(value: &mut Value, additions: Value) {
    match (value, additions) {
        (Value::Object(members), Value::Object(additions)) => {
            for (name, addition) in additions {
                merge(members.entry(name).or_insert(Value::Null), addition);
            }
        }
        (value, addition) => *value = addition,
    }
}

fn write(path: &Path, document: &Value) -> Result<()> {
    let text = serde_json::to_string_pretty(document)? + "\n";
    fs::write(path, text).with_context(|| format!("could not write {}", path.display()))
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))
}

fn append(path: &Path, text: &str) -> Result<()> {
    let file = OpenOptions::new().append(true).create(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("could not write {}", path.display()))
}

/// Runs git in a folder, and returns its output.
fn git(folder: &Path, arguments: &[&str]) -> Result<String> {
    process::output(process::command(folder, &["git"]).args(arguments))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check, interface::Lists, outline};

    /// The command itself compiles and tests a whole copy, which takes minutes.
    #[test]
    fn the_additions_are_valid_and_have_types() {
        let additions = |name: &str| repository::read(&format!("{ADDITIONS}/{name}"));
        let lists = Lists::read_with(|name| {
            let list = repository::read(&format!("{}/{name}", interface::FOLDER))?;
            let is_extended = EXTENDED_LISTS.contains(&name);
            Ok(if is_extended { list + &additions(name)? } else { list })
        });
        let mut document = contract::parse(contract::DOCUMENT).unwrap();
        if document["paths"].get("/v1/gen-motion-1").is_some() {
            // This is the copy, which has the additions already.
            return;
        }
        let interface = |document: &Value| outline::interface(&document.to_string()).unwrap();
        let before = interface(&document).items;
        merge(&mut document, serde_json::from_str(&additions(CONTRACT).unwrap()).unwrap());
        assert_eq!(check::problems_of_value(&document, &lists.unwrap()), [""; 0]);

        let mut after = interface(&document);
        let is_table = |item: &syn::Item| matches!(item, syn::Item::Static(_));
        after.items.retain(|item| !is_table(item) && !before.contains(item));
        insta::assert_snapshot!(prettyplease::unparse(&after));
    }
}
