//! Installs the packages in new folders with the commands of the pages, and runs their tests.

use std::{
    env,
    ffi::OsString,
    fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};

use crate::{
    process::{cargo, command, succeed, without_ci},
    repository,
};

/// The longest time from the first command to the end of the tests, without compiling.
const LIMIT: Duration = Duration::from_secs(120);

/// A person who follows one section of a page.
struct Stranger {
    page: &'static str,
    heading: &'static str,
    /// What the person has already: the program under test, in a folder of `examples/testing`.
    files: &'static [&'static str],
    /// What the output of the commands contains.
    expected: &'static str,
}

const TESTING: &str = "docs/testing.md";
const INSTALL: &str = "docs/install.md";
const RUST: &str = "src/guide/testing.md";
const VERSION: &str = concat!("kiln ", env!("CARGO_PKG_VERSION"));

const STRANGERS: [Stranger; 10] = [
    Stranger {
        page: TESTING,
        heading: "## pytest",
        files: &["examples/testing/pytest/client.py"],
        expected: "2 passed",
    },
    Stranger {
        page: TESTING,
        heading: "## Jest",
        files: &["examples/testing/jest/client.js"],
        expected: "2 passed",
    },
    Stranger {
        page: TESTING,
        heading: "## Vitest",
        files: &["examples/testing/jest/client.js", "examples/testing/jest/client.test.js"],
        expected: "2 passed",
    },
    Stranger {
        page: TESTING,
        heading: "## Go",
        files: &[
            "examples/testing/go/client.go",
            "examples/testing/go/client_test.go",
            "examples/testing/go/go.mod",
        ],
        expected: "ok  \timagekiln.example/testing",
    },
    Stranger {
        page: RUST,
        heading: "# Test your own program",
        files: &[],
        expected: "test a_fox_is_paid_for_once ... ok",
    },
    Stranger { page: INSTALL, heading: "### pip", files: &[], expected: VERSION },
    Stranger { page: INSTALL, heading: "### pipx", files: &[], expected: VERSION },
    Stranger { page: INSTALL, heading: "### uv", files: &[], expected: VERSION },
    Stranger { page: INSTALL, heading: "### npm", files: &[], expected: VERSION },
    Stranger { page: INSTALL, heading: "### Archive", files: &[], expected: VERSION },
];

/// The virtual environment in the home folder of a person.
const ENVIRONMENT: &str = "venv";

/// Unpacks the image, and runs the program without any other file.
const IMAGE: &str = "\
skopeo copy --quiet oci-archive:$(echo \"$DIST\"/kiln-*.oci.tar) oci:image:kiln
umoci unpack --rootless --image image:kiln bundle
grep --quiet '\"/kiln\",' bundle/config.json
unshare --map-root-user chroot bundle/rootfs /kiln simulate -- /kiln --version";

/// Plays all strangers with the packages in a folder, and prints how long each took.
pub fn play(root: &Path, packages: &Path) -> Result<()> {
    let mut failed = Vec::new();
    for stranger in &STRANGERS {
        let what =
            format!("{}, {}", stranger.page, stranger.heading.trim_start_matches(['#', ' ']));
        match stranger.play(root, packages) {
            Ok(time) => println!("{what}: {time}"),
            Err(error) => {
                println!("{what}: failed: {error:#}");
                failed.push(what);
            }
        }
    }
    let home = tempfile::tempdir().context("could not create a temporary folder")?;
    let time = follow(IMAGE, home.path(), home.path(), packages, VERSION)?;
    println!("the container image, unpacked and run: {:.1} s", time.as_secs_f64());
    ensure!(failed.is_empty(), "the pages do not work: {}", failed.join("; "));
    Ok(())
}

impl Stranger {
    /// Follows the section in a new folder, and returns how long it took. The caches of the package
    /// managers are empty, except Cargo's.
    fn play(&self, root: &Path, packages: &Path) -> Result<String> {
        let home = tempfile::tempdir().context("could not create a temporary folder")?;
        let home = home.path();
        let project = home.join("project");
        fs::create_dir(&project).context("could not create a folder")?;
        if self.page == RUST {
            succeed(cargo(&project, &["init", "--quiet", "--lib"]).arg(&project))?;
            let clone = ["git", "clone", "--quiet", "--no-hardlinks"];
            succeed(command(home, &clone).arg(root).arg("imagekiln"))?;
        }
        for path in self.files {
            let name = Path::new(path).file_name().unwrap_or_default();
            let copied = fs::copy(root.join(path), project.join(name));
            copied.with_context(|| format!("could not copy {path}"))?;
        }
        let page = repository::read(self.page)?;
        let section = section(&page, self.heading)?;
        for (name, content) in files(section) {
            let path = project.join(name);
            fs::create_dir_all(path.parent().unwrap_or(&project))?;
            fs::write(path, content).with_context(|| name.to_owned())?;
        }
        let script = commands(section);
        ensure!(!script.is_empty(), "the section has no commands");
        // A new virtual environment, as if it was activated, with what section names need.
        let environment = home.join(ENVIRONMENT);
        succeed(command(root, &["python3", "-m", "venv"]).arg(&environment))?;
        for tool in ["pipx", "uv"].iter().filter(|tool| self.heading.ends_with(**tool)) {
            let mut install = Command::new(environment.join("bin/pip"));
            succeed(install.args(["install", "--quiet", tool]))?;
        }
        let (build, tests) = built(&script);
        let built = match build {
            "" => String::new(),
            build => {
                let time = follow(build, home, &project, packages, "")?;
                format!(", after a build of {} s", time.as_secs())
            }
        };
        let time = follow(tests, home, &project, packages, self.expected)?;
        ensure!(time <= LIMIT, "took {} s", time.as_secs());
        Ok(format!("{:.1} s{built}", time.as_secs_f64()))
    }
}

/// Splits a script after the command that compiles a program, if there is one.
fn built(script: &str) -> (&str, &str) {
    const BUILD: &str = "cargo test --no-run\n";
    script.split_at(script.find(BUILD).map_or(0, |start| start + BUILD.len()))
}

/// Runs commands, and returns how long they took. They must print a text.
#[expect(clippy::disallowed_methods, reason = "the time of other programs is measured")]
fn follow(
    script: &str,
    home: &Path,
    project: &Path,
    packages: &Path,
    expected: &str,
) -> Result<Duration> {
    let mut bash = Command::new("bash");
    let bash = without_ci(&mut bash).args(["-euo", "pipefail", "-c", script]).current_dir(project);
    let started = Instant::now();
    let output = bash
        .env("DIST", packages)
        .env("HOME", home)
        .env("PATH", search_path(home)?)
        .env("CI", "true")
        .env("NO_COLOR", "1")
        .output()
        .context("could not start bash")?;
    let time = started.elapsed();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    ensure!(output.status.success(), "{}\n{text}", output.status);
    ensure!(text.contains(expected), "not printed: {expected}\n{text}");
    Ok(time)
}

/// Returns a search path without another `kiln`.
fn search_path(home: &Path) -> Result<OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    let others = env::split_paths(&path).filter(|folder| !folder.join("kiln").exists());
    let own = [home.join(ENVIRONMENT).join("bin"), home.join(".local/bin")];
    env::join_paths(own.into_iter().chain(others)).context("could not set PATH")
}

/// Returns the text from a heading to the next one.
fn section<'a>(page: &'a str, heading: &str) -> Result<&'a str> {
    let heading = format!("\n{heading}\n");
    let first = || page.strip_prefix(heading.trim_start()).map(|rest| ("", rest));
    let (_, rest) = page
        .split_once(&heading)
        .or_else(first)
        .with_context(|| format!("the page has no heading `{}`", heading.trim()))?;
    Ok(rest
        .find("\n## ")
        .into_iter()
        .chain(rest.find("\n### "))
        .min()
        .map_or(rest, |end| &rest[..end]))
}

/// Returns the blocks of a section: what precedes each, its language and its content.
fn blocks(section: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    let mut rest = section;
    std::iter::from_fn(move || {
        let (before, after) = rest.split_once("\n```")?;
        let (language, after) = after.split_once('\n')?;
        let (content, after) = after.split_once("```\n")?;
        rest = after;
        Some((before.trim_end(), language, content))
    })
}

/// Returns the files that a section shows, each below a line that is its name.
fn files(section: &str) -> impl Iterator<Item = (&str, &str)> {
    blocks(section).filter_map(|(before, _, content)| {
        let line = before.lines().last()?;
        let name = line.strip_prefix('`')?.strip_suffix("`:")?;
        Some((name, content))
    })
}

/// Returns the commands of a section.
fn commands(section: &str) -> String {
    let sessions = blocks(section).filter(|(_, language, _)| *language == "console");
    let lines = sessions.flat_map(|(.., content)| content.lines());
    let mut script = String::new();
    let mut continues = false;
    for line in lines {
        // What a command prints is not shown with `$`.
        let Some(line) = line.strip_prefix("$ ").or(continues.then_some(line)) else { continue };
        continues = line.ends_with('\\');
        script.push_str(line);
        script.push('\n');
    }
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_commands_are_those_of_the_section() {
        let page = "# Page\n\n## One\n\n```console\n$ first \\\n  second\nprinted\n$ third\n```\n\n\
                    `a.json`:\n\n```json\n{}\n```\n\nText:\n\n```python\npass\n```\n\n## Two\n\n\
                    ```console\n$ other\n```\n";
        let one = section(page, "## One").unwrap();
        assert_eq!(files(one).collect::<Vec<_>>(), [("a.json", "{}\n")]);
        assert_eq!(commands(one), "first \\\n  second\nthird\n");
        assert_eq!(commands(section(page, "## Two").unwrap()), "other\n");
        assert_eq!(section(page, "# Page").unwrap(), "");
        assert!(section(page, "## Three").is_err());
    }

    #[test]
    fn a_build_is_measured_by_itself() {
        let script = "cargo add one\ncargo test --no-run\ncargo test\n";
        assert_eq!(built(script), ("cargo add one\ncargo test --no-run\n", "cargo test\n"));
        assert_eq!(built("cargo test\n"), ("", "cargo test\n"));
    }

    #[test]
    fn every_stranger_finds_commands_and_files() {
        for stranger in &STRANGERS {
            let page = repository::read(stranger.page).unwrap();
            let section = section(&page, stranger.heading).unwrap();
            assert!(!commands(section).is_empty(), "{}", stranger.heading);
            let has_test =
                files(section).any(|(name, _)| name.contains("test") && !name.contains("config"));
            let mut given = stranger.files.iter();
            let is_given = given.any(|path| path.contains(".test.") || path.contains("_test."));
            let needs_test = stranger.page != INSTALL && !is_given;
            assert_eq!(has_test, needs_test, "{}", stranger.heading);
        }
    }
}
