//! `cargo xtask release-check`: the checks for which `.ci/run` has no time or no tools.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::{process, repository};

/// A check, and the commands that make it. The first ones install the tools that it needs, unless
/// they are installed.
struct Check {
    name: &'static str,
    commands: &'static [&'static str],
}

/// `docs/checks.md` describes them, with those of `.ci/run`.
const CHECKS: [Check; 16] = [
    Check {
        name: "minimum-rust",
        commands: &[
            "rustup toolchain install 1.89 --profile minimal --no-self-update",
            "cargo +1.89 check --workspace --locked",
        ],
    },
    Check {
        name: "features",
        commands: &[
            "cargo install --quiet --locked cargo-hack@0.6.46",
            "apt-get install --yes --no-install-recommends libssl-dev pkg-config",
            "cargo hack clippy --workspace --ignore-private --feature-powerset --depth 2 --locked \
             -- -D warnings",
            "cargo clippy --workspace --all-targets --all-features --locked -- -D warnings",
        ],
    },
    Check { name: "outside", commands: &[".ci/outside"] },
    Check {
        name: "minimal-dependencies",
        commands: &[
            "rustup toolchain install nightly --profile minimal --no-self-update",
            "cargo install --quiet --locked cargo-hack@0.6.46 cargo-minimal-versions@0.1.38",
            "cargo minimal-versions check --workspace --ignore-private --direct",
        ],
    },
    Check {
        name: "dependencies",
        commands: &[
            "cargo install --quiet --locked cargo-deny@0.20.2",
            "cargo deny --all-features check bans licenses sources",
        ],
    },
    Check {
        name: "public-api",
        commands: &[
            "cargo install --quiet --locked cargo-semver-checks@0.51.0",
            "cargo xtask public-api",
        ],
    },
    Check { name: "packages", commands: &["cargo xtask packages"] },
    Check {
        name: "windows",
        commands: &[
            "apt-get install --yes --no-install-recommends gcc-mingw-w64-x86-64 wine wine64",
            "rustup target add x86_64-pc-windows-gnu",
            "cargo clippy --package imagekiln-cli --target x86_64-pc-windows-gnu --locked -- \
             -D warnings",
            "cargo xtask windows",
        ],
    },
    Check {
        name: "macos",
        commands: &[
            "rustup target add aarch64-apple-darwin",
            // A check needs no C code, and there is no C compiler for macOS here.
            "env CC_aarch64_apple_darwin=true AR_aarch64_apple_darwin=true \
             cargo clippy --package imagekiln-cli --target aarch64-apple-darwin --locked -- \
             -D warnings",
        ],
    },
    Check {
        name: "dist",
        commands: &[
            "apt-get install --yes --no-install-recommends binutils golang-go musl-tools \
             skopeo umoci",
            "cargo xtask dist --try",
        ],
    },
    Check { name: "exercise", commands: &["cargo xtask exercise"] },
    Check { name: "generators", commands: &["cargo xtask generators"] },
    Check { name: "clients", commands: &["cargo xtask clients"] },
    Check {
        name: "fuzz",
        commands: &[
            "rustup toolchain install nightly --profile minimal --no-self-update",
            "cargo install --quiet --locked cargo-fuzz@0.13.2",
            "cargo xtask fuzz",
        ],
    },
    Check { name: "benchmarks", commands: &["cargo xtask bench"] },
    Check { name: "kill-test", commands: &["cargo xtask kill-test"] },
];

/// Runs the checks that a release needs and `.ci/run` does not make, one after the other, and
/// installs the tools that they need. All are run, even if one fails
#[derive(Args)]
pub struct Arguments {
    /// Only these checks
    #[arg(value_parser = CHECKS.map(|check| check.name))]
    names: Vec<String>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let names = &arguments.names;
    let is_chosen = |check: &&Check| names.is_empty() || names.iter().any(|n| n == check.name);
    let mut failed = Vec::new();
    for check in CHECKS.iter().filter(is_chosen) {
        println!("== {}", check.name);
        if let Err(error) = check.commands.iter().try_for_each(|line| run_line(line)) {
            eprintln!("{}: {error:#}", check.name);
            failed.push(check.name);
        }
    }
    if failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!("failed: {}", failed.join(", "));
    println!("repeat them with `cargo xtask release-check {}`", failed.join(" "));
    Ok(ExitCode::FAILURE)
}

/// Runs a line of words without spaces at the root of the repository.
fn run_line(line: &str) -> Result<()> {
    let words: Vec<_> = line.split(' ').collect();
    let mut command = process::command(&repository::root()?, &words);
    // Cargo's variables of this program would choose its toolchain for the commands.
    for name in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(name);
    }
    process::succeed(&mut command)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the names in the column of the table's rows with this place.
    fn listed(place: &str) -> Vec<String> {
        let page = repository::read("docs/checks.md").unwrap();
        let cells = page.lines().map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
        let rows = cells.filter(|cells| cells.len() == 5 && cells[3] == place);
        rows.map(|cells| cells[1].to_owned()).collect()
    }

    #[test]
    fn the_page_lists_all_checks() {
        let script = repository::read(".ci/run").unwrap();
        // Steps that install something are indented.
        let steps = script.lines().filter_map(|line| line.strip_prefix("step \""));
        let steps: Vec<_> = steps.map(|step| step.trim_end_matches('"')).collect();
        assert_eq!(
            listed("`.ci/run`"),
            &steps[..steps.len() - 1],
            "the last one says that it ends"
        );
        let names = CHECKS.map(|check| format!("`{}`", check.name));
        assert_eq!(listed("`release-check`"), names);
    }

    #[test]
    fn the_minimum_version_of_rust_is_the_one_that_is_tested() {
        let manifest = repository::read("Cargo.toml").unwrap();
        let stated = manifest.lines().find_map(|line| line.strip_prefix("rust-version = "));
        let stated = stated.unwrap().trim_matches('"');
        let check = CHECKS.iter().find(|check| check.name == "minimum-rust").unwrap();
        assert!(check.commands[1].starts_with(&format!("cargo +{stated} ")), "{stated}");
    }
}
