//! What is printed about each tool, and about all of them.

use std::fmt;

/// What came of running a tool.
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

/// What was found about a tool.
pub struct Report {
    /// The name, with the version if it was installed.
    pub tool: String,
    pub warnings: Vec<String>,
    pub outcome: Outcome,
}

impl Report {
    pub fn not_run(tool: &str, reason: &str) -> Self {
        let outcome = Outcome::NotRun(reason.to_owned());
        Self { tool: tool.to_owned(), warnings: Vec::new(), outcome }
    }

    pub fn has_problem(&self) -> bool {
        !self.warnings.is_empty() || matches!(self.outcome, Outcome::Failed(_))
    }

    /// Turns a picture into a failure if it differs from the first one. The picture of the
    /// simulator is a function of the request, so a client that sends another request is noticed.
    pub fn compared_with(mut self, earlier: &[Self]) -> Self {
        let pictures = earlier.iter().filter_map(|report| Some((&report.tool, report.picture()?)));
        if let (Some(own), Some((tool, first))) = (self.picture(), pictures.into_iter().next())
            && own != first
        {
            self.outcome = Outcome::Failed(format!("the picture differs from that of {tool}"));
        }
        self
    }

    fn picture(&self) -> Option<&[u8]> {
        match &self.outcome {
            Outcome::Saved { picture, .. } => Some(picture),
            _ => None,
        }
    }

    fn was_run(&self) -> bool {
        !matches!(self.outcome, Outcome::NotRun(_))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.tool)?;
        if self.was_run() {
            match self.warnings.len() {
                0 => f.write_str("no warnings")?,
                1 => f.write_str("1 warning")?,
                count => write!(f, "{count} warnings")?,
            }
        }
        match &self.outcome {
            Outcome::NotRun(reason) => write!(f, "not run: {}", indented(reason))?,
            Outcome::Failed(error) => write!(f, "; failed: {}", indented(error))?,
            Outcome::Linted => {}
            Outcome::Saved { polls, picture } => {
                let times = if *polls == 1 { "once".into() } else { format!("{polls} times") };
                write!(f, "; submitted, polled {times}, ")?;
                write!(f, "saved a picture of {} bytes", picture.len())?;
            }
        }
        self.warnings.iter().try_for_each(|warning| write!(f, "\n  {warning}"))
    }
}

fn indented(text: &str) -> String {
    text.trim().replace('\n', "\n  ")
}

/// Returns the last line of the command.
pub fn summary(reports: &[Report]) -> String {
    let count = |has: fn(&Report) -> bool| reports.iter().filter(|report| has(report)).count();
    format!(
        "run: {}; with warnings or failures: {}; saved the same picture: {}; not run: {}",
        count(Report::was_run),
        count(Report::has_problem),
        count(|report| report.picture().is_some()),
        count(|report| !report.was_run()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved(tool: &str, polls: u32, picture: &[u8]) -> Report {
        let outcome = Outcome::Saved { polls, picture: picture.to_vec() };
        Report { tool: tool.into(), warnings: Vec::new(), outcome }
    }

    fn linted(warnings: &[&str]) -> Report {
        let warnings = warnings.iter().map(|&warning| warning.into()).collect();
        Report { tool: "redocly 1.0".into(), warnings, outcome: Outcome::Linted }
    }

    #[test]
    fn each_outcome_has_a_line() {
        let mut broken = linted(&["ERROR at 3:1"]);
        broken.outcome = Outcome::Failed("`go build` failed:\nunused variable".into());
        let reports = [
            linted(&[]),
            linted(&["Warning: a", "Warning: b"]),
            saved("hey-api 0.1", 3, b"1234"),
            saved("fast 0.1", 1, b"1234"),
            broken,
            Report::not_run("oapi-codegen", "it is a Go module"),
        ];
        let lines = reports.iter().map(Report::to_string).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(lines, @r"
        redocly 1.0: no warnings
        redocly 1.0: 2 warnings
          Warning: a
          Warning: b
        hey-api 0.1: no warnings; submitted, polled 3 times, saved a picture of 4 bytes
        fast 0.1: no warnings; submitted, polled once, saved a picture of 4 bytes
        redocly 1.0: 1 warning; failed: `go build` failed:
          unused variable
          ERROR at 3:1
        oapi-codegen: not run: it is a Go module
        ");
        insta::assert_snapshot!(summary(&reports), @"run: 5; with warnings or failures: 2; saved the same picture: 2; not run: 1");
    }

    #[test]
    fn a_tool_that_was_not_run_is_not_a_problem() {
        let reports = [saved("a", 2, b"1"), Report::not_run("b", "npm is missing")];
        assert!(reports.iter().all(|report| !report.has_problem()));
        insta::assert_snapshot!(summary(&reports), @"run: 1; with warnings or failures: 0; saved the same picture: 1; not run: 1");
    }

    #[test]
    fn a_different_picture_is_a_failure() {
        let earlier = [linted(&[]), saved("a 1", 2, b"one")];
        assert!(!saved("b", 2, b"one").compared_with(&earlier).has_problem());
        let different = saved("b", 2, b"two").compared_with(&earlier);
        assert_eq!(
            different.to_string(),
            "b: no warnings; failed: the picture differs from that of a 1"
        );
        assert!(different.has_problem());
    }
}
