//! `cargo xtask check`: checks the contract, that all files derived from it are up to date, and the
//! rules of the house. Does not write anything.

use std::{env, process::ExitCode};

use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;

use crate::{
    contract::{self, Faults},
    derived,
    interface::{self, Lists},
    process,
    repository::{self, CONTRACT},
    tidy,
};

/// Checks the contract and the rules of the house, and prints each problem with its place and how
/// to fix it
#[derive(Args)]
pub struct Arguments {}

pub fn run(_: &Arguments) -> Result<ExitCode> {
    let document = repository::read(CONTRACT)?;
    let mut found = vec![(
        problems(&document, &Lists::read()?),
        "correct openapi.json, or the lists in xtask/interface after reading the interface",
    )];
    if found.iter().all(|(problems, _)| problems.is_empty()) {
        let advice = "run `cargo xtask regenerate`, and review the changes with `git diff`";
        found.push((stale(&document)?, advice));
    }
    found.push((tidy::problems()?, "keep the rules of the house"));
    found.retain(|(problems, _)| !problems.is_empty());
    if found.is_empty() {
        println!("the contract is valid, all files derived from it are up to date, and the rules");
        println!("of the house are kept");
        return Ok(ExitCode::SUCCESS);
    }
    for (problems, advice) in found {
        problems.iter().for_each(|problem| println!("{problem}"));
        println!("\n{advice}");
    }
    Ok(ExitCode::FAILURE)
}

/// Returns the problems of the document itself: faults, and differences from the interface.
pub fn problems(document: &str, lists: &Lists) -> Vec<String> {
    match contract::parse(document) {
        Ok(document) => problems_of_value(&document, lists),
        Err(faults) => lines(&faults),
    }
}

pub fn problems_of_value(document: &Value, lists: &Lists) -> Vec<String> {
    let mut problems = contract::check(document).map_or_else(|faults| lines(&faults), |()| vec![]);
    // A document with a fault may not be comparable, for the same reason or for another one.
    let differences = interface::compare(lists, document).unwrap_or_else(|faults| lines(&faults));
    let new: Vec<_> = differences.into_iter().filter(|line| !problems.contains(line)).collect();
    problems.extend(new);
    problems
}

fn lines(faults: &Faults) -> Vec<String> {
    faults.to_string().lines().map(str::to_owned).collect()
}

/// Returns the files that do not match the document.
fn stale(document: &str) -> Result<Vec<String>> {
    serde_json::from_str::<openapiv3::OpenAPI>(document)
        .with_context(|| format!("{CONTRACT} cannot be read by the crate `openapiv3`"))?;
    let mut problems = Vec::new();
    for stale in derived::stale(document)? {
        problems.push(format!("{} is not up to date", stale.path.display()));
    }
    // The tests that `regenerate` runs write new snapshots, and accept none.
    let is_regenerating = env::var_os("INSTA_FORCE_PASS").is_some();
    for path in pending()?.iter().filter(|_| !is_regenerating) {
        problems.push(format!("{path} is neither accepted nor rejected: `cargo insta review`"));
    }
    Ok(problems)
}

/// Returns the files with new snapshots, which tests wrote and nobody has reviewed.
pub fn pending() -> Result<Vec<String>> {
    let list = ["git", "ls-files", "--others", "-z", "--exclude=/target"];
    let files = process::output(&mut process::command(&repository::root()?, &list))?;
    let is_new = |file: &&str| file.ends_with(".snap.new") || file.ends_with(".pending-snap");
    Ok(files.split('\0').filter(is_new).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_repository_passes() {
        assert_eq!(run(&Arguments {}).unwrap(), ExitCode::SUCCESS, "`cargo xtask check`");
    }

    #[test]
    fn all_problems_of_a_document_are_found_at_once() {
        let mut document = contract::parse(contract::DOCUMENT).unwrap();
        document["tags"][1]["name"] = "tools".into();
        document["paths"]["/v1/gen-dev"]["post"]["x-migrate-to"] = serde_json::json!(["gen_2_pro"]);
        let schemas = &mut document["components"]["schemas"];
        schemas["GenDev"]["properties"]["steps"]["pattern"] = "^a".into();
        schemas["Gen2Pro"]["properties"]["prompt"]["minItems"] = 1.into();
        schemas["TaskResult"]["properties"]["sample"]["x-valid-seconds"] = "600".into();
        insta::assert_snapshot!(problems_of_value(&document, &Lists::read().unwrap()).join("\n"));
    }

    #[test]
    fn the_first_model_of_a_kind_is_a_fact_of_the_lists() {
        let mut document = contract::parse(contract::DOCUMENT).unwrap();
        let paths = document["paths"].as_object_mut().unwrap();
        let first = paths.shift_remove("/v1/gen-tools/vto-v2").unwrap();
        paths.insert("/v1/gen-tools/vto-v2".to_owned(), first);
        let problems = problems_of_value(&document, &Lists::read().unwrap());
        let expected = [
            "/v1/gen-tools/vto-v2: `first-of-kind=true` is in the lists, not in the document",
            "/v1/gen-tools/vto-v1: `first-of-kind=true` is in the document, not in the lists",
        ];
        let is_expected = |(line, expected): (&String, &str)| line.ends_with(expected);
        assert!(problems.iter().zip(expected).all(is_expected), "{problems:?}");
        assert_eq!(problems.len(), 2);
    }

    /// The pages of crates.io find no picture by a relative link.
    #[test]
    fn the_pictures_of_the_readmes_are_absolute_and_exist() {
        const RAW: &str = "https://raw.githubusercontent.com/imagekiln/imagekiln/main/";
        let root = repository::root().unwrap();
        for page in [
            "README.md",
            "crates/batch/README.md",
            "crates/cli/README.md",
            "crates/label/README.md",
            "crates/painter/README.md",
            "crates/simulator/README.md",
        ] {
            let text = repository::read(page).unwrap();
            for image in text.split("![").skip(1) {
                let (_, target) = image.split_once("](").unwrap();
                let path = target.split(')').next().and_then(|target| target.strip_prefix(RAW));
                assert!(path.is_some_and(|path| root.join(path).is_file()), "{page}: {image}");
            }
        }
    }
}
