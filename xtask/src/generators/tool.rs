//! A linter or generator, and how it is run.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail, ensure};

use super::{
    environment::{Environment, output_of, text_of},
    install::{COMMITTED, Installed, Registry},
    report::{Outcome, Report},
    simulator::Simulator,
    warnings::warnings,
};

/// What a JPEG, PNG or WebP file starts with.
const SIGNATURES: [&[u8]; 3] = [b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"RIFF"];

/// The name of the file that a client saves.
const PICTURE: &str = "picture";

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
        let version = match installed.version_of(self) {
            Ok(version) => version,
            Err(reason) => return Report::not_run(self.name, &reason),
        };
        if let Some(reason) = self.needs.iter().find_map(|need| environment.missing(need)) {
            return Report::not_run(self.name, &reason);
        }
        let mut found = Vec::new();
        let outcome = self.try_run(environment, simulator, &mut found);
        let outcome = outcome.unwrap_or_else(|error| Outcome::Failed(format!("{error:#}")));
        Report { tool: format!("{} {version}", self.name), warnings: found, outcome }
    }

    fn try_run(
        &self,
        environment: &Environment,
        simulator: &Simulator,
        found: &mut Vec<String>,
    ) -> Result<Outcome> {
        let directory = environment.folder.join(self.name);
        prepare(&environment.root, self.name, &directory)?;
        let output = environment.command(&directory, self.generate).output();
        let output = output.with_context(|| format!("could not start `{}`", self.generate[0]))?;
        *found = warnings(self.name, &text_of(&output));
        ensure!(output.status.success(), "{}:\n{}", output.status, text_of(&output).trim());
        let Some(client) = &self.client else { return Ok(Outcome::Linted) };
        output_of(&mut environment.command(&directory, client.build))?;
        let mut run = environment.command(&directory, client.run);
        run.arg(PICTURE).env("IMAGEKILN_BASE_URL", &simulator.base_url);
        let output = output_of(run.env("IMAGEKILN_API_KEY", &simulator.api_key))?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let polls = printed.trim().parse();
        let polls = polls.with_context(|| format!("`{printed}` is not the number of polls"))?;
        let picture = fs::read(directory.join(PICTURE)).context("the client saved no picture")?;
        check(&picture)?;
        Ok(Outcome::Saved { polls, picture })
    }
}

/// Replaces the directory of a tool by one with its committed files.
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
