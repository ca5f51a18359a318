//! `cargo xtask bench peers`: how long programs with different clients take for the same pictures,
//! from their start to the last saved file.
//!
//! The packages are installed below `target/peers`. `xtask/peers` has their versions and a program
//! for each client, which saves `PICTURES` pictures in `pictures/`, `AT_ONCE` at once. All settings
//! of the clients are their defaults.

mod measured;

use std::{
    env, fs,
    path::Path,
    process::{ExitCode, Stdio},
};

use anyhow::{Context, Result, ensure};
use clap::Args;

use self::measured::{HEAD, Run};
use crate::{
    generators::{
        environment::{
            Environment,
            Registry::{self, Npm, PyPi},
            check, run as run_command,
        },
        simulator::Simulator,
    },
    process::{cargo, succeed, without_ci},
    repository,
};

/// The name of the folders in `xtask` and `target`.
const FOLDER: &str = "peers";

const PICTURES: u16 = 72;
const AT_ONCE: u16 = 24;

/// How much the durations of tasks vary: each duration is measured with all of these.
const SPREADS: [f64; 2] = [0.0, 0.1];

/// Writes the wall time, the two CPU times and the peak memory of a command and its children. A
/// process inherits the peak of its parent, and GNU time needs less memory than any client.
const TIME: &str = "time --format %e,%U,%S,%M --output usage";

/// A program that makes the pictures. Its commands have no spaces within words, and run in a
/// directory of their own, which has the files of `xtask/peers/<folder>`.
struct Peer {
    name: &'static str,
    /// The package that is compared, unless it is of this repository.
    package: Option<(Registry, &'static str)>,
    folder: &'static str,
    /// Programs that it needs and that are not in the registry.
    needs: &'static [&'static str],
    /// What is not measured.
    builds: &'static [&'static str],
    run: &'static str,
}

/// A program of a package that needs no preparation.
const fn published(
    name: &'static str,
    package: (Registry, &'static str),
    run: &'static str,
) -> Peer {
    Peer { name, package: Some(package), folder: name, needs: &[], builds: &[], run }
}

/// A program of this repository.
const fn own(name: &'static str, run: &'static str) -> Peer {
    Peer { name, package: None, folder: name, needs: &[], builds: &[], run }
}

/// A program with the SDK.
const fn sdk(name: &'static str, run: &'static str) -> Peer {
    let builds = &["cargo build --release --quiet"];
    Peer { folder: "sdk", builds, ..own(name, run) }
}

const PEERS: [Peer; 10] = [
    published("blackforest", (PyPi, "blackforest"), "python driver.py"),
    published("ai-sdk", (Npm, "@ai-sdk/black-forest-labs"), "node driver.mjs"),
    published("litellm", (PyPi, "litellm"), "python driver.py"),
    published("httpx", (PyPi, "httpx"), "python driver.py"),
    Peer {
        needs: &["java"],
        builds: &[
            "openapi-generator-cli generate --input-spec ../inlined.json --generator-name python \
             --additional-properties enumClassPrefix=true --output generated",
            "python -m compileall -q generated",
        ],
        ..published("openapi-generator", (PyPi, "openapi-generator-cli"), "python driver.py")
    },
    sdk("sdk", "../cargo/release/sdk"),
    own(
        "kiln-generate",
        "kiln generate fox --model gen-dev --width 256 --height 256 --count 72 --output pictures/",
    ),
    own(
        "kiln-batch",
        "kiln batch run --prompt fox --seed 1..72 --max-active 24 --model gen-dev --width 256 \
         --height 256 --output pictures",
    ),
    sdk("sdk-webhooks", "../cargo/release/sdk webhooks"),
    own(
        "kiln-batch-webhooks",
        "kiln batch run --prompt fox --seed 1..72 --max-active 24 --model gen-dev --width 256 \
         --height 256 --output pictures --listen 127.0.0.1:0",
    ),
];

/// Compares how long other clients and imagekiln take for 72 pictures, 24 at once, against the
/// simulator, on a quiet machine. Prints a table for each duration of tasks
#[derive(Args)]
pub struct Arguments {
    /// Run only these
    #[arg(value_name = "NAME", value_parser = PEERS.map(|peer| peer.name))]
    only: Vec<String>,
    /// How many seconds a task takes; for each, also with durations that vary by 10 %
    #[arg(long, value_name = "SECONDS", value_delimiter = ',', default_value = "1.63,4.21,9.37")]
    durations: Vec<f64>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let root = repository::root()?;
    // Built first, so that no compiler runs during a measurement.
    let words = ["build", "--release", "--package", "imagekiln-cli", "--target-dir", "target"];
    succeed(without_ci(&mut cargo(&root, &words)))?;
    let path = env::var_os("PATH").unwrap_or_default();
    let path =
        env::join_paths([root.join("target/release")].into_iter().chain(env::split_paths(&path)))?;
    let environment = Environment::with(root.clone(), FOLDER, root.join("target/peers"), &path);
    // Nothing is installed without npm and Python.
    fs::create_dir_all(&environment.folder)
        .context("could not create the folder of the clients")?;
    let contract = simulator(&environment, &[])?.inlined_contract()?;
    fs::write(environment.folder.join("inlined.json"), contract)
        .context("could not write the contract")?;

    let mut peers = Vec::new();
    for peer in PEERS {
        if arguments.only.is_empty() || arguments.only.iter().any(|name| name == peer.name) {
            match peer.prepare(&environment)? {
                Ok(label) => peers.push((label, peer)),
                Err(reason) => println!("{}: not run: {reason}", peer.name),
            }
        }
    }
    let mut is_success = true;
    for duration in &arguments.durations {
        for spread in SPREADS {
            println!("\n{duration} s, varied by {} %\n\n{HEAD}", spread * 100.0);
            for (label, peer) in &peers {
                match peer.measure(&environment, *duration, spread) {
                    Ok(run) => println!("{}", run.row(label, *duration)),
                    Err(error) => {
                        is_success = false;
                        println!("| {label} | failed |");
                        eprintln!("{label}: {error:#}");
                    }
                }
            }
        }
    }
    Ok(if is_success { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Starts a simulator. With a seed, a run can be repeated, and published clients know the models of
/// a service with this prefix.
fn simulator(environment: &Environment, options: &[&str]) -> Result<Simulator> {
    let kiln = environment.command(&environment.root, "kiln");
    Simulator::start_with(kiln, &[&["--model-prefix", "flux", "--seed", "1"], options].concat())
}

impl Peer {
    /// Builds it, and returns its name with its version, or the reason why it can't run.
    fn prepare(&self, environment: &Environment) -> Result<Result<String, String>> {
        let missing = ["time"].iter().chain(self.needs).find_map(|need| environment.missing(need));
        if let Some(reason) = missing {
            return Ok(Err(reason));
        }
        let label = match self.package.map(|package| environment.version_of(package)) {
            None => self.name.to_owned(),
            Some(Ok(version)) => format!("{} {version}", self.name),
            Some(Err(reason)) => return Ok(Err(reason)),
        };
        let directory = environment.prepare(self.folder)?;
        for line in self.builds {
            let mut command = environment.command(&directory, line);
            let output = run_command(without_ci(&mut command))?;
            check(&command, &output)?;
        }
        Ok(Ok(label))
    }

    fn measure(&self, environment: &Environment, duration: f64, spread: f64) -> Result<Run> {
        let directory = environment.folder.join(self.folder);
        for name in ["pictures", "state"] {
            let folder = directory.join(name);
            if folder.exists() {
                fs::remove_dir_all(&folder)?;
            }
            fs::create_dir(&folder)?;
        }
        // Each has a simulator of its own, so that all get tasks with the same durations.
        let (duration, spread) = (duration.to_string(), spread.to_string());
        let options = ["--ready-after", &duration, "--ready-after-spread", &spread];
        let simulator = simulator(environment, &options)?;
        let mut command = environment.command(&directory, &format!("{TIME} {}", self.run));
        simulator.describe_to(&mut command);
        command.env("PICTURES", PICTURES.to_string()).env("AT_ONCE", AT_ONCE.to_string());
        command.env("IMAGEKILN_WEBHOOK_SECRET", "a secret of the benchmark");
        // No settings of the user, and no history of earlier runs.
        for variable in ["HOME", "KILN_CONFIG_DIR", "KILN_STATE_DIR"] {
            command.env(variable, directory.join("state"));
        }
        // `kiln generate` has no flag for it.
        let settings = format!("max_active = {AT_ONCE}\n");
        fs::write(directory.join("state/config.toml"), settings)?;
        command.stdin(Stdio::null());
        let output = run_command(&mut command)?;
        check(&command, &output)?;
        let saved = pictures(&directory.join("pictures"))?;
        ensure!(saved == usize::from(PICTURES), "it saved {saved} pictures, not {PICTURES}");
        let usage = fs::read_to_string(directory.join("usage")).context("time wrote nothing")?;
        Run::read(&usage, &simulator)
    }
}

/// Returns the number of pictures in a folder, in which a batch also has its ledger.
fn pictures(folder: &Path) -> Result<usize> {
    let mut pictures = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_picture = path.extension().is_some_and(|extension| extension == "jpg");
        pictures += usize::from(is_picture && fs::metadata(&path)?.len() > 0);
    }
    Ok(pictures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_peer_has_a_program_and_an_exact_version() {
        for Peer { name, package, folder, .. } in PEERS {
            let Some((registry, package)) = package else { continue };
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER).join(folder);
            assert!(path.is_dir(), "{name}");
            let (_, list, ..) = registry.parts();
            let list = repository::read(&format!("xtask/{FOLDER}/{list}")).unwrap();
            let version = registry.version(&list, package);
            assert!(version.is_some_and(|it| semver::Version::parse(&it).is_ok()), "{package}");
        }
    }

    #[test]
    fn the_commands_of_kiln_make_as_many_pictures() {
        for Peer { name, run, .. } in PEERS.iter().filter(|peer| peer.run.starts_with("kiln ")) {
            let single = format!("--count {PICTURES} ");
            let batch = format!("--seed 1..{PICTURES} --max-active {AT_ONCE} ");
            assert!([single, batch].iter().any(|words| run.contains(words)), "{name}");
        }
    }
}
