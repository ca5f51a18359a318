//! The folder in which programs of other projects are installed, and the environment of their
//! commands.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs, io, iter,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// The folder in which Debian installs the sources of Go packages, which need no download then.
const DEBIAN_GO: &str = "/usr/share/gocode";

/// The Debian package's source of the only package that the generated Go client needs.
pub const GO_VALIDATOR: &str = "/usr/share/gocode/src/gopkg.in/validator.v2";

/// Programs and files that are not installed by this command, and how to get them.
const REQUIREMENTS: [(&str, &str); 7] = [
    ("npm", "install Node.js 20.19 or later"),
    ("tsc", "install Node.js 20.19 or later"),
    ("python3", "install Python 3.11 or later"),
    ("java", "install Java 11 or later"),
    ("go", "install Go (in Debian: golang-go)"),
    ("time", "install GNU time (in Debian: time)"),
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

/// A registry of packages.
#[derive(Clone, Copy)]
pub enum Registry {
    Npm,
    PyPi,
}

impl Registry {
    /// The program, the file with the packages and their versions, the directory that they are
    /// installed in, and the commands that install them.
    pub fn parts(self) -> (&'static str, &'static str, &'static str, &'static [&'static str]) {
        match self {
            Self::Npm => (
                "npm",
                "package.json",
                "node_modules",
                // A lock file would contain the address of the registry.
                &["npm install --no-package-lock --ignore-scripts --no-audit --no-fund"],
            ),
            Self::PyPi => (
                "python3",
                "requirements.txt",
                "python",
                &["python3 -m venv python", "python -m pip install --requirement requirements.txt"],
            ),
        }
    }

    /// Finds the version of a package in the list.
    pub fn version(self, list: &str, package: &str) -> Option<String> {
        match self {
            Self::Npm => {
                let list: Value = serde_json::from_str(list).ok()?;
                list["dependencies"][package].as_str().map(str::to_owned)
            }
            Self::PyPi => list
                .lines()
                .find_map(|line| line.strip_prefix(package)?.strip_prefix("==").map(str::to_owned)),
        }
    }
}

pub struct Environment {
    /// The checkout.
    pub root: PathBuf,
    /// The name of the folders in `xtask` and `target`. That in `xtask` has the versions, and a
    /// folder of programs for each tool.
    name: &'static str,
    /// The folder in which the tools are installed, and run in a directory each.
    pub folder: PathBuf,
    path: OsString,
    /// For each registry, the list of the packages that are installed, or why there are none.
    installed: [Result<String, String>; 2],
}

impl Environment {
    /// Installs the packages of the lists in `xtask/<name>` in `target/<name>`, unless they are
    /// there.
    pub fn new(root: PathBuf, name: &'static str) -> Self {
        let folder = root.join("target").join(name);
        Self::with(root, name, folder, &env::var_os("PATH").unwrap_or_default())
    }

    /// Uses this folder, and this search path for programs that are not installed in it.
    pub fn with(root: PathBuf, name: &'static str, folder: PathBuf, path: &OsStr) -> Self {
        let programs = ["node_modules/.bin", "python/bin"].map(|bin| folder.join(bin));
        let path = env::join_paths(programs.into_iter().chain(env::split_paths(path)));
        let installed = [Ok(String::new()), Ok(String::new())];
        let mut environment =
            Self { root, name, folder, path: path.unwrap_or_default(), installed };
        environment.installed = [Registry::Npm, Registry::PyPi].map(|registry| {
            let (program, list, ..) = registry.parts();
            environment.missing(program).map_or(Ok(()), Err)?;
            environment.install(registry).map_err(|error| {
                eprintln!("error: {error:#}");
                format!("the packages of xtask/{name}/{list} could not be installed")
            })
        });
        environment
    }

    /// Installs the packages of a list, unless this list was installed before. Returns the list.
    fn install(&self, registry: Registry) -> Result<String> {
        let (_, name, directory, commands) = registry.parts();
        let path = self.committed().join(name);
        let list = fs::read_to_string(&path)
            .with_context(|| format!("could not read {}", path.display()))?;
        let directory = self.folder.join(directory);
        // In the same directory as the packages, because it is removed with them.
        let stamp = directory.join("installed");
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == list) {
            return Ok(list);
        }
        eprintln!("installing the packages of xtask/{}/{name}", self.name);
        if directory.exists() {
            fs::remove_dir_all(&directory)
                .with_context(|| format!("could not remove {}", directory.display()))?;
        }
        fs::create_dir_all(&self.folder)
            .with_context(|| format!("could not create {}", self.folder.display()))?;
        fs::write(self.folder.join(name), &list).context("could not copy the list")?;
        for command in commands {
            let mut command = self.command(&self.folder, command);
            let output = run(&mut command)?;
            check(&command, &output)?;
        }
        // Written last, because an interrupted installation is repeated.
        fs::write(stamp, &list).context("could not note what is installed")?;
        Ok(list)
    }

    /// Returns the committed folder.
    fn committed(&self) -> PathBuf {
        self.root.join("xtask").join(self.name)
    }

    /// Replaces the directory of a tool with one that has its committed files, and returns it.
    pub fn prepare(&self, tool: &str) -> Result<PathBuf> {
        let directory = self.folder.join(tool);
        self.fill(&directory, &self.committed().join(tool))
            .with_context(|| format!("could not prepare {}", directory.display()))?;
        Ok(directory)
    }

    fn fill(&self, directory: &Path, committed: &Path) -> io::Result<()> {
        if directory.exists() {
            fs::remove_dir_all(directory)?;
        }
        fs::create_dir_all(directory)?;
        if committed.is_dir() {
            copy(committed, directory)?;
        }
        if directory.join("Cargo.toml").exists() {
            // The client is built with the versions of this repository.
            fs::copy(self.root.join("Cargo.lock"), directory.join("Cargo.lock"))?;
        }
        Ok(())
    }

    /// Returns the version of a package, or why it is not installed.
    pub fn version_of(&self, (registry, package): (Registry, &str)) -> Result<String, String> {
        let list = self.installed[registry as usize].clone()?;
        let (_, name, ..) = registry.parts();
        registry.version(&list, package).ok_or_else(|| format!("{package} is not in {name}"))
    }

    /// Says what to install, if this program or file is missing.
    pub fn missing(&self, required: &str) -> Option<String> {
        // Joined to a directory, an absolute path stays as it is.
        let mut candidates = env::split_paths(&self.path).map(|folder| folder.join(required));
        if candidates.any(|candidate| candidate.exists()) {
            return None;
        }
        let advice = REQUIREMENTS.iter().find(|(name, _)| *name == required);
        let advice = advice.map_or("install it", |(_, advice)| advice);
        Some(format!("{required} is missing; {advice}"))
    }

    /// Returns a command that finds the installed tools. `line` has words without spaces.
    pub fn command(&self, directory: &Path, line: &str) -> Command {
        let mut words = line.split(' ');
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).current_dir(directory).envs(VARIABLES).env("PATH", &self.path);
        // It may be a linter, whose rules are not those of generated code.
        command.env_remove("RUSTC_WORKSPACE_WRAPPER");
        let go_paths = [directory, Path::new(DEBIAN_GO)];
        command.env("GOPATH", env::join_paths(go_paths).unwrap_or_default());
        command.env("GOCACHE", self.folder.join("go-cache"));
        command
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir(&target)?;
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Runs a command until it ends.
pub fn run(command: &mut Command) -> Result<Output> {
    command.output().with_context(|| format!("could not start `{}`", line(command)))
}

/// Returns what a command printed, standard output first.
pub fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text)).join("\n")
}

/// Fails if the command failed. The error has the last lines that it printed.
pub fn check(command: &Command, output: &Output) -> Result<()> {
    let text = text(output);
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n");
    ensure!(output.status.success(), "`{}` failed ({}):\n{last}", line(command), output.status);
    Ok(())
}

fn line(command: &Command) -> String {
    let words = iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An environment with this search path, in which nothing is installed.
    fn environment(path: &str) -> Environment {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        Environment::with(root, "generators", "/dev/null/folder".into(), path.as_ref())
    }

    #[test]
    fn a_required_program_or_file_is_looked_up() {
        let environment = environment("/bin");
        assert_eq!(environment.missing("sh"), None);
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        assert_eq!(environment.missing(file), None);
        assert_eq!(
            environment.missing("/dev/null/file").unwrap(),
            "/dev/null/file is missing; install it"
        );
    }

    #[test]
    fn the_error_of_a_command_has_its_last_lines() {
        let mut command = environment("/bin:/usr/bin").command(Path::new("/"), "sh -c");
        command.arg("seq 30; echo broken >&2; exit 3");
        let output = run(&mut command).unwrap();
        let error = check(&command, &output).unwrap_err().to_string();
        assert!(error.contains("exit status: 3"), "{error}");
        assert!(error.ends_with("\n29\n30\nbroken") && !error.contains("\n11\n"), "{error}");
    }
}
