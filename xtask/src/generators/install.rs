//! Installs the tools from npm and PyPI, at the versions listed in `xtask/generators`.

use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;

use super::{
    environment::{Environment, Finished},
    tool::Tool,
};

/// Where the versions and the programs of the clients are, in the repository.
pub const COMMITTED: &str = "xtask/generators";

/// Where packages come from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Registry {
    Npm,
    PyPi,
}

impl Registry {
    const ALL: [Self; 2] = [Self::Npm, Self::PyPi];

    /// The file with the packages and their versions.
    fn list(self) -> &'static str {
        match self {
            Self::Npm => "package.json",
            Self::PyPi => "requirements.txt",
        }
    }

    fn program(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::PyPi => "python3",
        }
    }

    /// The commands that install what is in the list.
    fn commands(self) -> &'static [&'static [&'static str]] {
        match self {
            // A lock file would contain the address of the registry.
            Self::Npm => &[&[
                "npm",
                "install",
                "--no-package-lock",
                "--ignore-scripts",
                "--no-audit",
                "--no-fund",
            ]],
            Self::PyPi => &[
                &["python3", "-m", "venv", "python"],
                &["python", "-m", "pip", "install", "--requirement", "requirements.txt"],
            ],
        }
    }

    /// The directory with the installed packages.
    fn directory(self) -> &'static str {
        match self {
            Self::Npm => "node_modules",
            Self::PyPi => "python",
        }
    }
}

/// The packages of a registry.
struct Packages {
    registry: Registry,
    /// The content of the list.
    list: String,
    /// Why they are not installed.
    fault: Option<String>,
}

impl Packages {
    fn installed(registry: Registry, environment: &Environment) -> Result<Self> {
        let path = environment.root.join(COMMITTED).join(registry.list());
        let list = fs::read_to_string(&path)
            .with_context(|| format!("could not read {}", path.display()))?;
        let fault = match environment.missing(registry.program()) {
            Some(reason) => Some(reason),
            None => install(registry, &list, environment).err().map(|error| {
                eprintln!("error: {error:#}");
                format!("the packages of {} could not be installed", path.display())
            }),
        };
        Ok(Self { registry, list, fault })
    }
}

/// What is installed.
pub struct Installed(Vec<Packages>);

impl Installed {
    /// Installs the packages of all lists, unless they are there.
    pub fn all(environment: &Environment) -> Result<Self> {
        let packages = Registry::ALL.map(|registry| Packages::installed(registry, environment));
        packages.into_iter().collect::<Result<_>>().map(Self)
    }

    /// Returns the version of the package of this tool, or why it is not installed.
    pub fn version_of(&self, tool: &Tool) -> Result<String, String> {
        let packages = self.0.iter().find(|packages| packages.registry == tool.registry);
        let Packages { registry, list, fault } = packages.ok_or("its registry was not used")?;
        match fault {
            Some(fault) => Err(fault.clone()),
            None => version(*registry, list, tool.package)
                .ok_or_else(|| format!("{} is not in {}", tool.package, registry.list())),
        }
    }
}

/// Installs the packages of a list, unless this list was installed before.
fn install(registry: Registry, list: &str, environment: &Environment) -> Result<()> {
    let folder = &environment.folder;
    let directory = folder.join(registry.directory());
    // In the same directory as the packages, because it is removed with them.
    let stamp = directory.join("installed");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == list) {
        return Ok(());
    }
    eprintln!("installing the packages of {COMMITTED}/{}", registry.list());
    if directory.exists() {
        fs::remove_dir_all(&directory)
            .with_context(|| format!("could not remove {}", directory.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("could not create {}", folder.display()))?;
    fs::write(folder.join(registry.list()), list).context("could not copy the list")?;
    for command in registry.commands() {
        Finished::run(&mut environment.command(folder, command))?.checked()?;
    }
    // Written last, because an interrupted installation is repeated.
    fs::write(stamp, list).context("could not note what is installed")
}

/// Finds the version of a package in a list.
fn version(registry: Registry, list: &str, package: &str) -> Option<String> {
    match registry {
        Registry::Npm => {
            let list: Value = serde_json::from_str(list).ok()?;
            list["dependencies"][package].as_str().map(str::to_owned)
        }
        Registry::PyPi => list.lines().find_map(|line| {
            line.strip_prefix(package)?.strip_prefix("==").map(|version| version.trim().to_owned())
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::generators::tools::TOOLS;

    fn committed(registry: Registry) -> String {
        let path = format!("{}/generators/{}", env!("CARGO_MANIFEST_DIR"), registry.list());
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn each_tool_has_an_exact_version() {
        let is_exact = |version: &str| semver::Version::parse(version).is_ok();
        for tool in &TOOLS {
            let version = version(tool.registry, &committed(tool.registry), tool.package);
            assert!(version.is_some_and(|version| is_exact(&version)), "{}", tool.package);
        }
    }

    #[test]
    fn without_npm_and_python_no_tool_is_installed() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned();
        let nothing = Environment::with(root, "/dev/null/folder".into(), "".as_ref());
        let installed = Installed::all(&nothing).unwrap();
        let reasons = TOOLS.each_ref().map(|tool| installed.version_of(tool).unwrap_err());
        assert_eq!(reasons[0], "npm is missing; install Node.js 20.19 or later");
        assert_eq!(reasons[8], "python3 is missing; install Python 3.11 or later");
    }
}
