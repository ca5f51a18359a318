//! `cargo xtask release`: makes a release, except for the upload.

use std::{fs, path::Path, process::ExitCode};

use anyhow::{Context, Result, ensure};
use clap::Args;
use semver::Version;

use crate::{
    process::{command, output, succeed},
    registry::{self, PUBLISHED},
    repository,
};

const MANIFEST: &str = "Cargo.toml";
const CHANGELOG: &str = "CHANGELOG.md";
const UNRELEASED: &str = "## Unreleased\n";

/// Sets the version, dates the changelog, runs the release checks, commits and tags. Prints how to
/// upload. If a check fails, the changes stay in the working tree
#[derive(Args)]
pub struct Arguments {
    /// The new version, such as 0.2.0
    version: Version,
    /// Only pack the crates of this version, in target/registry; change, check and commit nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let root = repository::root()?;
    let version = arguments.version.to_string();
    if arguments.dry_run {
        let copy = registry::copy(&root)?;
        prepare(&copy, &version)?;
        let packed = registry::pack(&copy, &version)?;
        packed.iter().for_each(|path| println!("{}", path.display()));
        return Ok(ExitCode::SUCCESS);
    }
    let run = |words: &[&str]| succeed(&mut command(&root, words));
    let changes = output(&mut command(&root, &["git", "status", "--porcelain"]))?;
    ensure!(changes.is_empty(), "commit or remove these changes first:\n{changes}");
    prepare(&root, &version)?;
    run(&["cargo", "xtask", "release-check"])?;
    run(&["git", "commit", "--all", "--message", &format!("Release {version}")])?;
    run(&["git", "tag", &format!("v{version}")])?;
    println!("{version} is committed and tagged. What is left:\n");
    println!("    .ci/run");
    println!("    git push origin HEAD v{version}");
    let packages = PUBLISHED.map(|package| format!(" -p {}", package.name)).concat();
    println!("    cargo publish --manifest-path {}/{MANIFEST}{packages}", registry::COPY);
    Ok(ExitCode::SUCCESS)
}

/// Sets the version and dates the changelog in a folder.
fn prepare(folder: &Path, version: &str) -> Result<()> {
    let edit = |path: &str, edit: &dyn Fn(&str) -> Result<String>| {
        let path = folder.join(path);
        let text = fs::read_to_string(&path);
        let text = text.with_context(|| format!("could not read {}", path.display()))?;
        let edited = edit(&text)?;
        fs::write(&path, edited).with_context(|| format!("could not write {}", path.display()))
    };
    let today = output(&mut command(folder, &["date", "-u", "+%F"]))?;
    edit(MANIFEST, &|text| with_version(text, version))?;
    edit(CHANGELOG, &|text| dated(text, version, today.trim()))?;
    succeed(&mut command(folder, &["cargo", "update", "--workspace"]))
}

/// Sets the version of the workspace and of the dependencies between its crates.
fn with_version(manifest: &str, version: &str) -> Result<String> {
    let old = registry::version(manifest)?;
    ensure!(old <= Version::parse(version)?, "{version} is older than {old}");
    let [old, new] = [&old.to_string(), version].map(|version| format!("version = \"{version}\""));
    let is_ours = |line: &str| {
        let starts = |name: &str| line.starts_with(&format!("{name} = {{ "));
        line == old || PUBLISHED.iter().any(|package| starts(package.name))
    };
    let lines = manifest.split_inclusive('\n');
    Ok(lines
        .map(
            |line| {
                if is_ours(line.trim_end()) { line.replace(&old, &new) } else { line.to_owned() }
            },
        )
        .collect())
}

/// Gives the unreleased changes a heading with the version and its day. If the version already has
/// a heading without a day, adds the day.
fn dated(changelog: &str, version: &str, day: &str) -> Result<String> {
    let (before, changes) = changelog
        .split_once(UNRELEASED)
        .with_context(|| format!("{CHANGELOG} has no heading `{}`", UNRELEASED.trim()))?;
    let has_changes = !changes.trim_start().is_empty() && !changes.trim_start().starts_with("## ");
    let planned = format!("\n## {version}\n");
    if changes.contains(&planned) {
        ensure!(!has_changes, "{CHANGELOG} has changes that are in no version; move them");
        return Ok(changelog.replacen(&planned, &format!("\n## {version} - {day}\n"), 1));
    }
    ensure!(has_changes, "{CHANGELOG} has no unreleased changes");
    Ok(format!("{before}{UNRELEASED}\n## {version} - {day}\n{changes}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_versions_of_this_workspace_are_set() {
        let manifest = repository::read(MANIFEST).unwrap();
        let released = with_version(&manifest, "7.8.9").unwrap();
        let changed = manifest.lines().zip(released.lines()).filter(|(old, new)| old != new);
        let changed: Vec<_> = changed.map(|(_, new)| new).collect();
        // The workspace, and each library that another crate depends on.
        assert_eq!(changed.len(), 4, "{changed:#?}");
        assert!(changed.iter().all(|line| line.contains("version = \"7.8.9\"")), "{changed:#?}");
        let error = with_version(&manifest, "0.0.1").unwrap_err();
        assert_eq!(error.to_string(), "0.0.1 is older than 0.1.0");
    }

    #[test]
    fn unreleased_changes_get_a_heading() {
        let text = "# Changelog\n\n## Unreleased\n\n- a change\n\n## 0.1.0 - 2026-01-02\n\n- old\n";
        let expected = "# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2026-03-04\n\n- a change\n\n\
                        ## 0.1.0 - 2026-01-02\n\n- old\n";
        assert_eq!(dated(text, "0.2.0", "2026-03-04").unwrap(), expected);
        let error = dated(expected, "0.3.0", "2026-03-05").unwrap_err();
        assert_eq!(error.to_string(), "CHANGELOG.md has no unreleased changes");
        assert!(dated("# Changelog\n", "0.2.0", "2026-03-04").is_err());
    }

    #[test]
    fn a_version_that_has_its_heading_gets_its_day() {
        let text = "# Changelog\n\n## Unreleased\n\n## 0.1.0\n\n- all\n";
        let expected = "# Changelog\n\n## Unreleased\n\n## 0.1.0 - 2026-03-04\n\n- all\n";
        assert_eq!(dated(text, "0.1.0", "2026-03-04").unwrap(), expected);
        let text = text.replace("Unreleased\n", "Unreleased\n\n- a change\n");
        assert!(dated(&text, "0.1.0", "2026-03-04").is_err(), "it would be in no version");
    }

    #[test]
    fn the_changelog_can_be_dated() {
        let version = registry::version(&repository::read(MANIFEST).unwrap()).unwrap().to_string();
        let changelog = repository::read(CHANGELOG).unwrap();
        let heading = format!("\n## {version} - 2026-03-04\n");
        let is_released = changelog.contains(&format!("\n## {version} - "));
        assert!(
            is_released || dated(&changelog, &version, "2026-03-04").unwrap().contains(&heading)
        );
    }

    /// The URL at which the READMEs of the packages find the pictures of this repository.
    const RAW: &str = "https://raw.githubusercontent.com/imagekiln/imagekiln/main/";

    #[test]
    fn a_crate_is_published_or_says_that_it_is_not() {
        let root = repository::root().unwrap();
        let folders = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path());
        let manifests =
            folders.map(|folder| folder.join("Cargo.toml")).chain([root.join("Cargo.toml")]);
        let manifests = manifests.filter_map(|path| fs::read_to_string(path).ok());
        let mut published: Vec<_> = manifests
            .filter(|manifest| !manifest.lines().any(|line| line == "publish = false"))
            .filter_map(|manifest| {
                let mut lines = manifest.lines().skip_while(|line| *line != "[package]");
                let name = lines.find_map(|line| line.strip_prefix("name = ")?.split('"').nth(1));
                name.map(str::to_owned)
            })
            .collect();
        published.sort_unstable();
        let mut expected = PUBLISHED.map(|package| package.name);
        expected.sort_unstable();
        assert_eq!(published, expected);
    }

    #[test]
    fn the_pictures_of_the_readmes_are_absolute_and_exist() {
        let root = repository::root().unwrap();
        for page in ["README.md", "batch/README.md", "cli/README.md", "simulator/README.md"] {
            let text = repository::read(page).unwrap();
            for (_, image) in text.match_indices("![").map(|(start, _)| text.split_at(start)) {
                let target = image.split_once("](").and_then(|(_, rest)| rest.split_once(')'));
                let (target, _) = target.unwrap();
                let path = target.strip_prefix(RAW);
                assert!(path.is_some_and(|path| root.join(path).is_file()), "{page}: {target}");
            }
        }
    }
}
