//! Failures of job files.

use std::fmt;

use super::Failure;
use crate::exit::Exit;

/// A problem and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineProblem {
    /// The file, as the user named it.
    pub file: String,
    /// 0 if the problem is not about a line.
    pub line: u64,
    pub message: String,
}

impl fmt::Display for LineProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.message),
            line => write!(f, "{}:{line}: {}", self.file, self.message),
        }
    }
}

impl Failure {
    /// Lines of a job file are invalid.
    pub fn lines(file: &str, problems: Vec<LineProblem>, count: usize) -> Self {
        let plural = if count == 1 { "" } else { "s" };
        let mut failure =
            Self::new("validation", Exit::Usage, format!("{file} has {count} problem{plural}"));
        failure.more_problems = count - problems.len();
        failure.problems = problems;
        failure.advise("nothing was sent; correct the lines, and run the command again")
    }
}
