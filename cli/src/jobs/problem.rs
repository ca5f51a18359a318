//! Problems in the lines of a job file.

use std::{
    collections::{HashSet, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
};

use crate::failure::LineProblem;

/// The maximum number of problems that are reported in full.
const MOST_SHOWN: usize = 20;

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
