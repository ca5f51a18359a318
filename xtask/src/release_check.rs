//! `cargo xtask release-check`: the checks for which `.ci/run` has no time or no tools.

use std::process::ExitCode;

use anyhow::Result;
use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser},
};

use crate::{process, repository};

/// A check, and the commands that make it. The first ones install the tools that it needs, unless
/// they are installed.
struct Check {
    name: &'static str,
    finds: &'static str,
    commands: &'static [&'static str],
}

/// `docs/checks.md` describes those of `.ci/run`.
const CHECKS: [Check; 16] = [
    Check {
        name: "minimum-rust",
        finds: "code that the minimum version of Rust does not compile",
        commands: &[
            "rustup toolchain install 1.89 --profile minimal --no-self-update",
            "cargo +1.89 check --workspace --locked",
        ],
    },
    Check {
        name: "features",
        finds: "a feature, or a pair, that does not compile without warnings; `.ci/run` \
             compiles all of them at once",
        commands: &[
            "cargo install --quiet --locked cargo-hack@0.6.46",
            "apt-get install --yes --no-install-recommends libssl-dev pkg-config",
            "cargo hack clippy --workspace --ignore-private --feature-powerset --depth 2 --locked \
             -- -D warnings",
            "cargo clippy --workspace --all-targets --all-features --locked -- -D warnings",
        ],
    },
    Check {
        name: "outside",
        finds: "a README's program that does not compile with the packages; TLS that \
             fails beside a program's own HTTP client",
        commands: &[".ci/outside"],
    },
    Check {
        name: "minimal-dependencies",
        finds: "a stated minimum version of a dependency that is too old; all crates \
             state the same one",
        commands: &[
            "rustup toolchain install nightly --profile minimal --no-self-update",
            "cargo install --quiet --locked cargo-hack@0.6.46 cargo-minimal-versions@0.1.38",
            "cargo minimal-versions check --workspace --ignore-private --direct",
        ],
    },
    Check {
        name: "dependencies",
        finds: "licences, sources and crates that `deny.toml` does not allow, and versions with \
             known security advisories",
        commands: &[
            "cargo install --quiet --locked cargo-deny@0.20.2",
            "cargo deny --all-features check advisories bans licenses sources",
        ],
    },
    Check {
        name: "public-api",
        finds: "a change of the public interface since the newest tag (or 0.1.0) that \
             the version does not allow; it needs the whole history",
        commands: &[
            "cargo install --quiet --locked cargo-semver-checks@0.51.0",
            "cargo xtask public-api",
        ],
    },
    Check {
        name: "packages",
        finds: "an unpacked package that fails its tests; a page with what only works in \
             a clone",
        commands: &["cargo xtask packages"],
    },
    Check {
        name: "windows",
        finds: "what a linter and, with Wine, the tests of the SDK find; a picture that \
             differs",
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
        finds: "what a linter finds",
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
        finds: "a `kiln` that is not static or makes another picture; a package that is \
             too large; a command of `docs/install.md` or `docs/testing.md` that \
             fails in a new folder or takes over two minutes",
        commands: &[
            "apt-get install --yes --no-install-recommends binutils golang-go musl-tools \
             skopeo umoci",
            "cargo xtask dist --try",
        ],
    },
    Check {
        name: "exercise",
        finds: "an endpoint that can't be added by a change of the contract",
        commands: &["cargo xtask exercise"],
    },
    Check {
        name: "generators",
        finds: "a contract that other linters or generators reject, or whose clients fail",
        commands: &["cargo xtask generators"],
    },
    Check {
        name: "clients",
        finds: "a published client that fails against the simulator; a response that the \
             contract does not allow",
        commands: &["cargo xtask clients"],
    },
    Check {
        name: "fuzz",
        finds: "an input that breaks a property of a reader",
        commands: &[
            "rustup toolchain install nightly --profile minimal --no-self-update",
            "cargo install --quiet --locked cargo-fuzz@0.13.2",
            ".ci/fuzz",
        ],
    },
    Check {
        name: "benchmarks",
        finds: "a figure of `docs/performance.md` that has become worse; compare with \
             `git diff`",
        commands: &["cargo xtask bench"],
    },
    Check {
        name: "kill-test",
        finds: "a job that is lost or billed twice when workers and databases are killed",
        commands: &["cargo xtask kill-test"],
    },
];

/// Runs the checks that a release needs and `.ci/run` does not make, one after the other, and
/// installs the tools that they need. All are run, even if one fails
#[derive(Args)]
pub struct Arguments {
    /// Only these checks
    #[arg(value_parser = PossibleValuesParser::new(
        CHECKS.map(|check| PossibleValue::new(check.name).help(check.finds)),
    ))]
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

    /// Returns the names in the first column of the table with this header.
    fn listed(header: &str) -> Vec<String> {
        let page = repository::read("docs/checks.md").unwrap();
        let mut lines = page.lines().skip_while(|line| !line.starts_with(header));
        let rows = lines.by_ref().skip(2).take_while(|line| !line.is_empty());
        rows.filter_map(|row| Some(row.split('|').nth(1)?.trim().to_owned())).collect()
    }

    #[test]
    fn the_page_lists_all_checks_of_a_change() {
        let script = repository::read(".ci/run").unwrap();
        // Steps that install something are indented.
        let steps = script.lines().filter_map(|line| line.strip_prefix("step \""));
        let steps: Vec<_> = steps.map(|step| step.trim_end_matches('"')).collect();
        assert_eq!(
            listed("| check | what it finds |"),
            &steps[..steps.len() - 1],
            "the last one says that it ends"
        );
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
