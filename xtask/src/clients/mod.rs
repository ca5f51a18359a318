//! `cargo xtask clients`: runs published clients of the service, and a tester of HTTP interfaces,
//! against the simulator with its default settings.
//!
//! They are installed and run below `target/clients`. `xtask/clients` has their versions and a
//! program for each, which prints a line for each case: `ok NAME` or `failed NAME: REASON`.

mod expected;
mod report;

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use self::{
    expected::EXPECTED,
    report::{Findings, Outcome, Report},
};
use crate::{
    generators::{
        environment::{
            Environment,
            Registry::{self, Npm, PyPi},
            check, run as run_command,
        },
        simulator::Simulator,
    },
    repository,
};

/// The name of the folders in `xtask` and `target`.
const FOLDER: &str = "clients";

/// The options of the simulator. The clients know the models of a service with another prefix, and
/// with a seed, a run can be repeated.
const OPTIONS: [&str; 4] = ["--model-prefix", "flux", "--seed", "1"];

/// A published client.
struct Client {
    name: &'static str,
    package: (Registry, &'static str),
    /// Runs its program, in a directory of its own.
    run: &'static str,
}

const CLIENTS: [Client; 5] = [
    Client { name: "blackforest", package: (PyPi, "blackforest"), run: "python driver.py" },
    Client { name: "litellm", package: (PyPi, "litellm"), run: "python driver.py" },
    Client { name: "ai-sdk", package: (Npm, "@ai-sdk/black-forest-labs"), run: "node driver.mjs" },
    Client {
        name: "memberjunction",
        package: (Npm, "@memberjunction/ai-blackforestlabs"),
        run: "node driver.mjs",
    },
    Client { name: "schemathesis", package: (PyPi, "schemathesis"), run: "python driver.py" },
];

/// Runs published clients of the service, and a tester of HTTP interfaces, against the simulator
#[derive(Args)]
pub struct Arguments {
    /// Run only these
    #[arg(value_name = "CLIENT", value_parser = CLIENTS.map(|client| client.name))]
    only: Vec<String>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let only = &arguments.only;
    let environment = Environment::new(repository::root()?, FOLDER);
    let mut is_success = true;
    for client in CLIENTS {
        if only.is_empty() || only.iter().any(|name| name == client.name) {
            let report = client.report(&environment);
            println!("{report}");
            is_success &= !report.has_problem();
        }
    }
    Ok(if is_success { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Client {
    fn report(&self, environment: &Environment) -> Report {
        let (client, outcome) = match environment.version_of(self.package) {
            Ok(version) => {
                let outcome = self
                    .run(environment)
                    .map_or_else(|error| Outcome::Failed(format!("{error:#}")), Outcome::Ran);
                (format!("{} {version}", self.name), outcome)
            }
            Err(reason) => (self.name.to_owned(), Outcome::NotRun(reason)),
        };
        Report { client, outcome }
    }

    fn run(&self, environment: &Environment) -> Result<Findings> {
        // Each has a simulator of its own, so that its findings don't depend on the others.
        let simulator = Simulator::start(&environment.root, &OPTIONS)?;
        let mut command = environment.command(&environment.prepare(self.name)?, self.run);
        simulator.describe_to(&mut command);
        let output = run_command(&mut command)?;
        check(&command, &output)?;
        let expected = EXPECTED.iter().filter(|(client, ..)| *client == self.name);
        let expected: Vec<_> = expected.map(|(_, finding, _)| *finding).collect();
        Findings::of(&String::from_utf8_lossy(&output.stdout), &expected)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    #[test]
    fn each_client_has_a_program_and_each_program_a_client() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients");
        let entries = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let folders = entries.filter(|path| path.is_dir()).count();
        assert_eq!(folders, CLIENTS.len());
        for client in CLIENTS {
            let (_, program) = client.run.split_once(' ').unwrap();
            assert!(folder.join(client.name).join(program).is_file(), "{}", client.name);
        }
    }

    #[test]
    fn each_client_has_an_exact_version() {
        for Client { package: (registry, package), .. } in CLIENTS {
            let (_, list, ..) = registry.parts();
            let list = repository::read(&format!("xtask/{FOLDER}/{list}")).unwrap();
            let version = registry.version(&list, package);
            assert!(version.is_some_and(|it| semver::Version::parse(&it).is_ok()), "{package}");
        }
    }

    #[test]
    fn each_known_finding_is_of_a_client() {
        for (client, finding, _) in EXPECTED {
            assert!(CLIENTS.iter().any(|it| it.name == client), "{client}: {finding}");
        }
    }
}
