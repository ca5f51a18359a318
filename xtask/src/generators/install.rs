//! Installs the tools from npm and PyPI, at the versions listed in `xtask/generators`.

use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;

use super::{
    environment::{Environment, output_of},
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

/// Which registries could be used, and the versions of their packages.
pub struct Installed(Vec<(Registry, String, Option<String>)>);

impl Installed {
    /// Installs the packages of these tools, unless they are there.
    pub fn all_of(tools: &[&Tool], environment: &Environment) -> Result<Self> {
        let mut installed = Vec::new();
        for registry in Registry::ALL {
            if tools.iter().any(|tool| tool.registry == registry) {
                let path = environment.root.join(COMMITTED).join(registry.list());
                let list = fs::read_to_string(&path)
                    .with_context(|| format!("could not read {}", path.display()))?;
                let fault = environment
                    .missing(registry.program())
                    .or_else(|| install(registry, &list, environment).err().map(describe));
                installed.push((registry, list, fault));
            }
        }
        Ok(Self(installed))
    }

    /// Returns the version of the package of this tool, or why it is not installed.
    pub fn version_of(&self, tool: &Tool) -> Result<String, String> {
        let found = self.0.iter().find(|(registry, _, _)| *registry == tool.registry);
        let (registry, list, fault) = found.ok_or("its registry was not used")?;
        match fault {
            Some(fault) => Err(fault.clone()),
            None => version(*registry, list, tool.package)
                .ok_or_else(|| format!("{} is not in {}", tool.package, registry.list())),
        }
    }
}

fn describe(error: anyhow::Error) -> String {
    format!("{error:#}")
}

/// Installs the packages of a list, unless this list was installed before.
fn install(registry: Registry, list: &str, environment: &Environment) -> Result<()> {
    let folder = &environment.folder;
    let stamp = folder.join(format!("{}.installed", registry.list()));
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == list) {
        return Ok(());
    }
    eprintln!("installing the packages of {COMMITTED}/{}", registry.list());
    fs::create_dir_all(folder).context("could not create target/generators")?;
    let directory = folder.join(registry.directory());
    if directory.exists() {
        fs::remove_dir_all(&directory)
            .with_context(|| format!("could not remove {}", directory.display()))?;
    }
    fs::write(folder.join(registry.list()), list).context("could not copy the list")?;
    for command in registry.commands() {
        output_of(&mut environment.command(folder, command))?;
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
