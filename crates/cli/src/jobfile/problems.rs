//! The problems of the jobs of a file, grouped by kind.

use std::{
    collections::{HashSet, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
};

use crate::failure::LineProblem;

/// The maximum number of kinds of problems that are reported.
const MOST_SHOWN: usize = 20;

/// The maximum number of further lines in the message about a kind of problem.
const MOST_LINES: usize = 3;

/// The problems that the planner has found.
#[derive(Default)]
pub struct Problems {
    kinds: Vec<Kind>,
    /// The hashes of all problems. There may be as many problems as lines, so the texts would take
    /// too much memory.
    seen: HashSet<u64>,
}

/// Problems of the same kind.
struct Kind {
    /// Whether the problems are on lines of a file, and the words that their messages have in
    /// common.
    key: (bool, String),
    first: LineProblem,
    /// The numbers of the first further lines with this kind of problem.
    also: Vec<u64>,
    count: usize,
}

impl Problems {
    /// Adds a problem, unless the same problem of the same line was added before: the combinations
    /// of a matrix share the line of their prompt.
    pub fn add(&mut self, problem: LineProblem) {
        let mut hasher = DefaultHasher::new();
        (problem.line, &problem.message).hash(&mut hasher);
        if !self.seen.insert(hasher.finish()) {
            return;
        }
        let key = (problem.line > 0, without_values(&problem.message));
        if let Some(kind) = self.kinds.iter_mut().find(|kind| kind.key == key) {
            kind.count += 1;
            if kind.also.len() < MOST_LINES {
                kind.also.push(problem.line);
            }
        } else if self.kinds.len() < MOST_SHOWN {
            self.kinds.push(Kind { key, first: problem, also: Vec::new(), count: 1 });
        }
    }

    pub fn count(&self) -> usize {
        self.seen.len()
    }

    /// Returns the first problem of each kind, whose message names the other lines, and the number
    /// of problems whose kinds are left out.
    pub fn by_kind(self) -> (Vec<LineProblem>, usize) {
        let shown: usize = self.kinds.iter().map(|kind| kind.count).sum();
        let more = self.seen.len() - shown;
        let problem = |Kind { mut first, also, count, .. }| {
            let lines = also.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
            first.message += &match (&also[..], count - 1 - also.len()) {
                ([], _) => String::new(),
                ([_], 0) => format!(" (also on line {lines})"),
                (_, 0) => format!(" (also on lines {lines})"),
                (_, more) => format!(" (also on lines {lines} and {more} more)"),
            };
            first
        };
        (self.kinds.into_iter().map(problem).collect(), more)
    }
}

/// The words that messages of the same kind have in common: all except numbers and paths. Names in
/// backticks stay, because problems with different names are of different kinds.
fn without_values(message: &str) -> String {
    let is_value = |word: &&str| {
        let word = word.trim_end_matches(['.', ',', ';', ':']);
        !word.starts_with('`') && word.contains(|c: char| c.is_ascii_digit() || "/.".contains(c))
    };
    message.split(' ').filter(|word| !is_value(word)).collect::<Vec<_>>().join(" ")
}
