//! Where the tools are, and the variables that their commands get.

use std::{
    env,
    ffi::{OsStr, OsString},
    iter,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use anyhow::{Context, Result, bail};

/// Where Debian installs the sources of Go packages. There, they need no download.
const DEBIAN_GO: &str = "/usr/share/gocode";

/// The Debian package's source of the only package that the generated Go client needs.
pub const GO_VALIDATOR: &str = "/usr/share/gocode/src/gopkg.in/validator.v2";

/// Programs and files that are not installed by this command, and how to get them.
const REQUIREMENTS: [(&str, &str); 6] = [
    ("npm", "install Node.js 20.19 or later"),
    ("tsc", "install Node.js 20.19 or later"),
    ("python3", "install Python 3.11 or later"),
    ("java", "install Java 11 or later"),
    ("go", "install Go (in Debian: golang-go)"),
    (GO_VALIDATOR, "install the Debian package golang-gopkg-validator.v2-dev"),
];

/// Variables of each command. The current directory is that of the tool.
const VARIABLES: [(&str, &str); 8] = [
    ("CARGO_TARGET_DIR", "../cargo"),
    ("CI", "true"),
    ("GO111MODULE", "off"),
    ("GOFLAGS", ""),
    ("NO_COLOR", "1"),
    ("PYTHONPATH", "generated"),
    ("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true"),
    ("REDOCLY_TELEMETRY", "off"),
];

/// The last lines of the output of a command that are part of its error.
const SHOWN_LINES: usize = 20;

pub struct Environment {
    /// The checkout.
    pub root: PathBuf,
    /// Where the tools are installed, and run in a directory each.
    pub folder: PathBuf,
    path: OsString,
}

impl Environment {
    pub fn new(root: PathBuf) -> Self {
        let folder = root.join("target/generators");
        Self::with(root, folder, &env::var_os("PATH").unwrap_or_default())
    }

    /// Uses this folder, and this search path for programs that are not installed in it.
    pub fn with(root: PathBuf, folder: PathBuf, path: &OsStr) -> Self {
        let installed = ["node_modules/.bin", "python/bin"].map(|bin| folder.join(bin));
        let path = env::join_paths(installed.into_iter().chain(env::split_paths(path)));
        Self { root, folder, path: path.unwrap_or_default() }
    }

    /// Says what to install, if this program or file is missing.
    pub fn missing(&self, required: &str) -> Option<String> {
        // Joined to a directory, an absolute path stays as it is.
        let candidates = env::split_paths(&self.path).map(|directory| directory.join(required));
        if candidates.into_iter().any(|candidate| candidate.exists()) {
            return None;
        }
        let advice = REQUIREMENTS.iter().find(|(name, _)| *name == required);
        let advice = advice.map_or("install it", |(_, advice)| advice);
        Some(format!("{required} is missing; {advice}"))
    }

    /// Returns a command that finds the installed tools.
    pub fn command(&self, directory: &Path, words: &[&str]) -> Command {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).current_dir(directory).envs(VARIABLES).env("PATH", &self.path);
        let go_paths = [directory, Path::new(DEBIAN_GO)];
        command.env("GOPATH", env::join_paths(go_paths).unwrap_or_default());
        command.env("GOCACHE", self.folder.join("go-cache"));
        command
    }
}

/// A command that ended.
pub struct Finished {
    line: String,
    output: Output,
}

impl Finished {
    /// Runs a command until it ends.
    pub fn run(command: &mut Command) -> Result<Self> {
        let words = iter::once(command.get_program()).chain(command.get_args());
        let line = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let output = command.output().with_context(|| format!("could not start `{line}`"))?;
        Ok(Self { line, output })
    }

    /// Returns what it printed, standard output first.
    pub fn text(&self) -> String {
        [&self.output.stdout, &self.output.stderr]
            .map(|text| String::from_utf8_lossy(text))
            .join("\n")
    }

    pub fn standard_output(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).trim().to_owned()
    }

    /// Fails if it failed. The error has the last lines that it printed.
    pub fn checked(self) -> Result<Self> {
        if self.output.status.success() {
            return Ok(self);
        }
        let text = self.text();
        let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n");
        bail!("`{}` failed ({}):\n{last}", self.line, self.output.status);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(path: &str) -> Environment {
        Environment::with("/dev/null".into(), "/dev/null/folder".into(), path.as_ref())
    }

    #[test]
    fn a_missing_program_is_reported_with_what_to_install() {
        let empty = environment("");
        let missing = empty.missing("npm").unwrap();
        assert_eq!(missing, "npm is missing; install Node.js 20.19 or later");
        assert!(environment("/bin").missing("sh").is_none());
    }

    #[test]
    fn a_required_file_is_looked_up_at_its_path() {
        let environment = environment("");
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        assert_eq!(environment.missing(file), None);
        assert!(environment.missing("/dev/null/file").is_some());
    }

    #[test]
    fn the_error_of_a_command_has_its_last_lines() {
        let environment = environment("/bin:/usr/bin");
        let script = "seq 30; echo broken >&2; exit 3";
        let mut command = environment.command(Path::new("/"), &["sh", "-c", script]);
        let finished = Finished::run(&mut command).unwrap();
        let error = finished.checked().err().unwrap().to_string();
        assert!(error.contains("exit status: 3"), "{error}");
        assert!(error.ends_with("\n29\n30\nbroken") && !error.contains("\n11\n"), "{error}");
    }
}
