//! The report on a client: what it found, and whether that is known.

use std::fmt;

use anyhow::{Result, ensure};

/// What a client found, without the known findings.
#[derive(Debug, Default)]
pub struct Findings {
    passed: usize,
    known: usize,
    new: Vec<String>,
    /// Known findings that did not occur.
    gone: Vec<&'static str>,
}

/// The outcome of running a client.
pub enum Outcome {
    NotRun(String),
    Failed(String),
    Ran(Findings),
}

/// The report on a client.
pub struct Report {
    /// The name, with the version if it was installed.
    pub client: String,
    pub outcome: Outcome,
}

impl Findings {
    /// Reads what a program printed. `expected` has a part of the line of each known finding.
    pub fn of(printed: &str, expected: &[&'static str]) -> Result<Self> {
        let mut findings = Self { gone: expected.to_vec(), ..Self::default() };
        for line in printed.lines() {
            if line.starts_with("ok ") {
                findings.passed += 1;
            } else if line.starts_with("failed ") {
                match expected.iter().find(|part| line.contains(**part)) {
                    Some(part) => {
                        findings.known += 1;
                        findings.gone.retain(|other| other != part);
                    }
                    None => findings.new.push(line.to_owned()),
                }
            }
        }
        ensure!(findings.passed > 0, "no case passed; its program printed:\n{printed}");
        Ok(findings)
    }
}

impl Report {
    pub fn has_problem(&self) -> bool {
        match &self.outcome {
            Outcome::NotRun(_) => false,
            Outcome::Failed(_) => true,
            Outcome::Ran(findings) => !findings.new.is_empty() || !findings.gone.is_empty(),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indented = |text: &str| text.trim().replace('\n', "\n  ");
        write!(f, "{}: ", self.client)?;
        match &self.outcome {
            Outcome::NotRun(reason) => write!(f, "not run: {}", indented(reason)),
            Outcome::Failed(error) => write!(f, "failed: {}", indented(error)),
            Outcome::Ran(Findings { passed, known, new, gone }) => {
                write!(f, "{passed} passed; findings: {known} known, {} new", new.len())?;
                new.iter().try_for_each(|line| write!(f, "\n  {line}"))?;
                gone.iter().try_for_each(|part| write!(f, "\n  no longer found: {part}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A report on what a program printed, if these findings are known.
    fn report(printed: &str, expected: &[&'static str]) -> Report {
        let outcome = Findings::of(printed, expected)
            .map_or_else(|error| Outcome::Failed(error.to_string()), Outcome::Ran);
        Report { client: "tool 1.0".to_owned(), outcome }
    }

    #[test]
    fn known_findings_are_counted_and_other_lines_are_ignored() {
        let report = report("ok one\npolling\nfailed two: 404 at 3\nfailed three: 404", &[": 404"]);
        assert!(!report.has_problem());
        assert_eq!(report.to_string(), "tool 1.0: 1 passed; findings: 2 known, 0 new");
    }

    #[test]
    fn a_new_finding_is_a_problem() {
        let report = report("ok one\nfailed two: 404\nfailed three: 500", &[": 404"]);
        assert!(report.has_problem());
        insta::assert_snapshot!(report, @r"
        tool 1.0: 1 passed; findings: 1 known, 1 new
          failed three: 500
        ");
    }

    #[test]
    fn a_known_finding_that_no_longer_occurs_is_a_problem() {
        let report = report("ok one\nok two", &["failed two: "]);
        assert!(report.has_problem());
        insta::assert_snapshot!(report, @r"
        tool 1.0: 2 passed; findings: 0 known, 0 new
          no longer found: failed two: 
        ");
    }

    #[test]
    fn a_program_without_a_passed_case_failed() {
        let report = report("failed one: connection refused\n", &["refused"]);
        assert!(report.has_problem());
        assert!(report.to_string().starts_with("tool 1.0: failed: no case passed; "));
    }

    #[test]
    fn a_client_that_is_not_installed_is_not_a_problem() {
        let outcome = Outcome::NotRun("npm is missing".to_owned());
        let report = Report { client: "tool".to_owned(), outcome };
        assert!(!report.has_problem());
        assert_eq!(report.to_string(), "tool: not run: npm is missing");
    }
}
