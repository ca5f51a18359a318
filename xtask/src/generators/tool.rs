//! A linter or generator: its commands, and the report on it.

use std::{fmt, fs};

use anyhow::{Context, Result, ensure};

use super::{
    environment::{Environment, Registry, check, run, text},
    simulator::Simulator,
    warnings::warnings,
};

/// The first bytes of a JPEG file and of a PNG file.
const SIGNATURES: [&[u8]; 2] = [b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n"];

/// The name of the file that a client saves.
const PICTURE: &str = "picture";

/// The name of the file with all that the tool printed about the contract.
const OUTPUT: &str = "output.txt";

/// A linter or generator. Its commands have no spaces within words, and run in a directory of their
/// own, which has the files of `xtask/generators/<name>`.
pub struct Tool {
    pub name: &'static str,
    pub package: (Registry, &'static str),
    /// Programs and files that it needs and that are not in the registry.
    pub needs: &'static [&'static str],
    /// Reads the contract, and writes the client if there is one. Its messages are examined.
    pub generate: &'static str,
    pub client: Option<Client>,
}

/// The commands that build and run a generated client.
pub struct Client {
    pub build: &'static str,
    /// Makes a picture, saves it at the path that it gets as its last argument, and prints the
    /// number of polls.
    pub run: &'static str,
}

/// The report on a tool.
pub struct Report {
    /// The name, with the version if it was installed.
    pub tool: String,
    pub warnings: Vec<String>,
    pub outcome: Outcome,
}

/// The outcome of running a tool.
pub enum Outcome {
    NotRun(String),
    Failed(String),
    /// A linter ran.
    Linted,
    /// A generated client saved a picture.
    Saved {
        polls: u32,
        picture: Vec<u8>,
    },
}

impl Tool {
    /// Runs all commands, and returns the report. `first` is the picture of the first client. The
    /// picture of the simulator is a function of the request, so a client that sends another
    /// request is noticed.
    pub fn report(
        &self,
        environment: &Environment,
        simulator: &Simulator,
        first: Option<(&str, &[u8])>,
    ) -> Report {
        let missing = self.needs.iter().find_map(|need| environment.missing(need));
        let version = environment.version_of(self.package);
        let version = match version.and_then(|version| missing.map_or(Ok(version), Err)) {
            Ok(version) => version,
            Err(reason) => return Report::not_run(self.name, &reason),
        };
        let mut warnings = Vec::new();
        let outcome = match self.run(environment, simulator, &mut warnings) {
            Ok(Outcome::Saved { picture, .. }) if first.is_some_and(|first| first.1 != picture) => {
                let (tool, _) = first.unwrap_or_default();
                Outcome::Failed(format!("the picture differs from that of {tool}"))
            }
            Ok(outcome) => outcome,
            Err(error) => Outcome::Failed(format!("{error:#}")),
        };
        Report { tool: format!("{} {version}", self.name), warnings, outcome }
    }

    fn run(
        &self,
        environment: &Environment,
        simulator: &Simulator,
        found: &mut Vec<String>,
    ) -> Result<Outcome> {
        let directory = environment.prepare(self.name)?;
        let mut command = environment.command(&directory, self.generate);
        let output = run(&mut command)?;
        fs::write(directory.join(OUTPUT), text(&output)).context("could not keep its output")?;
        *found = warnings(self.name, &text(&output));
        check(&command, &output)?;
        let Some(client) = &self.client else { return Ok(Outcome::Linted) };

        let mut command = environment.command(&directory, client.build);
        let output = run(&mut command)?;
        check(&command, &output)?;
        let mut command = environment.command(&directory, client.run);
        command.arg(PICTURE);
        simulator.describe_to(&mut command);
        let output = run(&mut command)?;
        check(&command, &output)?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let polls = printed.trim().parse();
        let polls = polls.with_context(|| format!("`{printed}` is not a number of polls"))?;
        let picture = fs::read(directory.join(PICTURE)).context("the client saved no picture")?;
        check_picture(&picture)?;
        Ok(Outcome::Saved { polls, picture })
    }
}

/// Fails if a saved file is not a picture.
fn check_picture(picture: &[u8]) -> Result<()> {
    let start = String::from_utf8_lossy(&picture[..picture.len().min(80)]);
    let is_picture = SIGNATURES.iter().any(|signature| picture.starts_with(signature));
    let size = picture.len();
    ensure!(is_picture, "the client saved {size} bytes that are not a picture: {start}");
    Ok(())
}

impl Report {
    pub fn not_run(tool: &str, reason: &str) -> Self {
        let outcome = Outcome::NotRun(reason.to_owned());
        Self { tool: tool.to_owned(), warnings: Vec::new(), outcome }
    }

    pub fn has_problem(&self) -> bool {
        !self.warnings.is_empty() || matches!(self.outcome, Outcome::Failed(_))
    }

    pub fn picture(&self) -> Option<(&str, &[u8])> {
        match &self.outcome {
            Outcome::Saved { picture, .. } => Some((&self.tool, picture)),
            _ => None,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indented = |text: &str| text.trim().replace('\n', "\n  ");
        let warnings = match self.warnings.len() {
            0 => "no warnings".to_owned(),
            1 => "1 warning".to_owned(),
            count => format!("{count} warnings"),
        };
        write!(f, "{}: ", self.tool)?;
        match &self.outcome {
            Outcome::NotRun(reason) => write!(f, "not run: {}", indented(reason))?,
            Outcome::Failed(error) => write!(f, "{warnings}; failed: {}", indented(error))?,
            Outcome::Linted => f.write_str(&warnings)?,
            Outcome::Saved { polls, picture } => {
                let times = if *polls == 1 { "once".into() } else { format!("{polls} times") };
                write!(f, "{warnings}; submitted, polled {times}, ")?;
                write!(f, "saved a picture of {} bytes", picture.len())?;
            }
        }
        self.warnings.iter().try_for_each(|warning| write!(f, "\n  {warning}"))
    }
}

/// Returns the last line of the command.
pub fn summary(reports: &[Report]) -> String {
    let count = |has: fn(&Report) -> bool| reports.iter().filter(|report| has(report)).count();
    let not_run = count(|report| matches!(report.outcome, Outcome::NotRun(_)));
    format!(
        "run: {}; with warnings or failures: {}; saved the same picture: {}; not run: {not_run}",
        reports.len() - not_run,
        count(Report::has_problem),
        count(|report| report.picture().is_some()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_file_must_be_a_picture() {
        check_picture(b"\xff\xd8\xff\xe0JFIF").unwrap();
        check_picture(b"\x89PNG\r\n\x1a\n...").unwrap();
        let error = |bytes: &[u8]| check_picture(bytes).unwrap_err().to_string();
        assert_eq!(error(b""), "the client saved 0 bytes that are not a picture: ");
        assert!(error(b"<html>Not found").ends_with("not a picture: <html>Not found"));
    }

    #[test]
    fn each_outcome_has_a_line() {
        let report = |tool: &str, warnings: &[&str], outcome| Report {
            tool: tool.to_owned(),
            warnings: warnings.iter().map(|&warning| warning.to_owned()).collect(),
            outcome,
        };
        let saved = |polls| Outcome::Saved { polls, picture: b"1234".to_vec() };
        let failure = "`go build` failed:\nunused variable";
        let reports = [
            report("redocly 1.0", &[], Outcome::Linted),
            report("spectral 1.0", &["Warning: a", "Warning: b"], Outcome::Linted),
            report("hey-api 0.1", &[], saved(3)),
            report("fast 0.1", &[], saved(1)),
            report("broken 2.0", &["ERROR at 3:1"], Outcome::Failed(failure.to_owned())),
            Report::not_run("oapi-codegen", "it is a Go module"),
        ];
        assert!(!reports[5].has_problem());
        let lines = reports.iter().map(Report::to_string).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(format!("{lines}\n\n{}", summary(&reports)), @r"
        redocly 1.0: no warnings
        spectral 1.0: 2 warnings
          Warning: a
          Warning: b
        hey-api 0.1: no warnings; submitted, polled 3 times, saved a picture of 4 bytes
        fast 0.1: no warnings; submitted, polled once, saved a picture of 4 bytes
        broken 2.0: 1 warning; failed: `go build` failed:
          unused variable
          ERROR at 3:1
        oapi-codegen: not run: it is a Go module

        run: 5; with warnings or failures: 2; saved the same picture: 2; not run: 1
        ");
    }
}
