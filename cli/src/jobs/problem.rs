//! What is wrong with the lines of a job file.

use std::{
    collections::{HashSet, hash_map::DefaultHasher},
    fmt,
    hash::{Hash, Hasher},
};

/// The maximum number of problems that are reported in full.
const MOST_SHOWN: usize = 20;

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

/// The problems of a source.
#[derive(Default)]
pub struct Problems {
    pub shown: Vec<LineProblem>,
    /// Hashes, because there may be as many problems as lines.
    seen: HashSet<u64>,
}

impl Problems {
    /// Adds a problem, once: the jobs of a matrix share their lines.
    pub fn add(&mut self, problem: LineProblem) {
        let mut hasher = DefaultHasher::new();
        (problem.line, &problem.message).hash(&mut hasher);
        if self.seen.insert(hasher.finish()) && self.shown.len() < MOST_SHOWN {
            self.shown.push(problem);
        }
    }

    pub fn count(&self) -> usize {
        self.seen.len()
    }
}
