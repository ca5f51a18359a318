//! A linter or generator, and how it is run.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail};

use super::{
    environment::{Environment, Finished},
    install::{COMMITTED, Installed, Registry},
    report::{Outcome, Report},
    simulator::Simulator,
    warnings::warnings,
};

/// What a JPEG file and a PNG file start with.
const SIGNATURES: [&[u8]; 2] = [b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n"];

/// The name of the file that a client saves.
const PICTURE: &str = "picture";

/// The name of the file with all that the tool printed about the contract.
const OUTPUT: &str = "output.txt";

/// A linter or generator. Its commands run in a directory of their own, which has the files of
/// `xtask/generators/<name>`.
pub struct Tool {
    pub name: &'static str,
    pub registry: Registry,
    pub package: &'static str,
    /// Programs and files that it needs and that are not in the registry.
    pub needs: &'static [&'static str],
    /// Reads the contract, and writes the client if there is one. Its messages are examined.
    pub generate: &'static [&'static str],
    pub client: Option<Client>,
}

/// How a generated client is built and run.
pub struct Client {
    pub build: &'static [&'static str],
    /// Makes a picture, saves it at the path that it gets as its last argument, and prints the
    /// number of polls.
    pub run: &'static [&'static str],
}

impl Tool {
    /// Runs everything, and reports what was found.
    pub fn report(
        &self,
        environment: &Environment,
        installed: &Installed,
        simulator: &Simulator,
    ) -> Report {
        let version = match self.version(environment, installed) {
            Ok(version) => version,
            Err(reason) => return Report::not_run(self.name, &reason),
        };
        let mut found = Vec::new();
        let outcome = self.run(environment, simulator, &mut found);
        let outcome = outcome.unwrap_or_else(|error| Outcome::Failed(format!("{error:#}")));
        Report { tool: format!("{} {version}", self.name), warnings: found, outcome }
    }

    /// Returns the installed version, or why the tool cannot run.
    fn version(&self, environment: &Environment, installed: &Installed) -> Result<String, String> {
        let version = installed.version_of(self)?;
        match self.needs.iter().find_map(|need| environment.missing(need)) {
            Some(reason) => Err(reason),
            None => Ok(version),
        }
    }

    fn run(
        &self,
        environment: &Environment,
        simulator: &Simulator,
        found: &mut Vec<String>,
    ) -> Result<Outcome> {
        let directory = environment.folder.join(self.name);
        prepare(&environment.root, self.name, &directory)?;
        let generated = Finished::run(&mut environment.command(&directory, self.generate))?;
        let output = generated.text();
        fs::write(directory.join(OUTPUT), &output).context("could not keep its output")?;
        *found = warnings(self.name, &output);
        generated.checked()?;
        match &self.client {
            Some(client) => client.run(&directory, environment, simulator),
            None => Ok(Outcome::Linted),
        }
    }
}

impl Client {
    fn run(
        &self,
        directory: &Path,
        environment: &Environment,
        simulator: &Simulator,
    ) -> Result<Outcome> {
        Finished::run(&mut environment.command(directory, self.build))?.checked()?;
        let mut command = environment.command(directory, self.run);
        command.arg(PICTURE);
        command.env("IMAGEKILN_BASE_URL", &simulator.base_url);
        command.env("IMAGEKILN_API_KEY", &simulator.api_key);
        let printed = Finished::run(&mut command)?.checked()?.standard_output();
        let polls = printed.parse();
        let polls = polls.with_context(|| format!("`{printed}` is not a number of polls"))?;
        let picture = fs::read(directory.join(PICTURE)).context("the client saved no picture")?;
        check(&picture)?;
        Ok(Outcome::Saved { polls, picture })
    }
}

/// Replaces the directory of a tool with one that has its committed files.
fn prepare(root: &Path, name: &str, directory: &Path) -> Result<()> {
    let context = || format!("could not prepare {}", directory.display());
    if directory.exists() {
        fs::remove_dir_all(directory).with_context(context)?;
    }
    fs::create_dir_all(directory).with_context(context)?;
    let committed = root.join(COMMITTED).join(name);
    if committed.is_dir() {
        copy(&committed, directory).with_context(context)?;
    }
    if directory.join("Cargo.toml").exists() {
        // The client is built with the versions of this repository.
        fs::copy(root.join("Cargo.lock"), directory.join("Cargo.lock")).with_context(context)?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
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

/// Fails if a saved file is not a picture.
fn check(picture: &[u8]) -> Result<()> {
    if !SIGNATURES.iter().any(|signature| picture.starts_with(signature)) {
        let start = String::from_utf8_lossy(&picture[..picture.len().min(80)]);
        bail!("the client saved {} bytes that are not a picture: {start}", picture.len());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_file_must_be_a_picture() {
        check(b"\xff\xd8\xff\xe0JFIF").unwrap();
        check(b"\x89PNG\r\n\x1a\n...").unwrap();
        let error = |bytes: &[u8]| check(bytes).unwrap_err().to_string();
        assert_eq!(error(b""), "the client saved 0 bytes that are not a picture: ");
        assert!(error(b"<html>Not found").ends_with("not a picture: <html>Not found"));
    }
}
