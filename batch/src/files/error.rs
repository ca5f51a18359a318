//! The errors of job files.

use std::{
    collections::{HashSet, hash_map::DefaultHasher},
    error, fmt,
    hash::{Hash, Hasher},
    io,
    path::PathBuf,
};

use imagekiln::text::counted;

/// The maximum number of jobs of a matrix.
pub(super) const MOST_JOBS: usize = 1_000_000;

/// The maximum number of kinds of problems that are reported.
const MOST_SHOWN: usize = 20;

/// The maximum number of other lines that a problem names.
const MOST_LINES: usize = 3;

/// A problem of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The file, as the caller named it. `None` for a prompt that is not in a file.
    pub file: Option<String>,
    /// The line on which the first job with this problem begins, from 1. 0 without a file.
    pub line: u64,
    /// For example `width: is 16; must be at least 64`. Names the first other lines with a
    /// problem of this kind. Safe to print.
    pub message: String,
}

/// As in `jobs.csv:3: prompt: is required (also on lines 7, 8, 9 and 5 more)`.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{file}:{}: {}", self.line, self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// Why jobs could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The extension of the file is not that of a job file; see [`Format`](super::Format).
    UnknownFormat(PathBuf),
    /// A file could not be opened or read.
    #[non_exhaustive]
    Unreadable {
        /// For example `could not open jobs.csv`.
        message: String,
        /// The cause.
        source: io::Error,
    },
    /// There are no jobs in the file, or in the prompts of a matrix.
    Empty(Option<String>),
    /// A matrix has this number of jobs. At most a million are possible.
    TooMany(usize),
    /// Some jobs are invalid.
    #[non_exhaustive]
    Invalid {
        /// The file, as the caller named it. `None` for the prompts of a matrix without a file.
        file: Option<String>,
        /// The first problem of each of the first twenty kinds.
        problems: Vec<Problem>,
        /// The number of all problems.
        count: usize,
        /// The number of problems of other kinds.
        more: usize,
        /// Whether an image has the wrong size, and would have the right one as viewers show it;
        /// see [`Defaults::upright`](super::Defaults::upright).
        fits_upright: bool,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownFormat(path) => {
                write!(f, "the format of {} is not known", path.display())
            }
            Self::Unreadable { message, .. } => f.write_str(message),
            Self::Empty(Some(file)) => write!(f, "{file} contains no jobs"),
            Self::Empty(None) => f.write_str("there are no prompts"),
            Self::TooMany(count) => write!(
                f,
                "the prompts, seeds and models have {count} combinations; at most {} are possible",
                MOST_JOBS
            ),
            Self::Invalid { file, problems, count, .. } => {
                let subject = match file {
                    Some(file) => format!("{file} has"),
                    None => "the prompts have".to_owned(),
                };
                write!(f, "{subject} {}", counted(*count as u64, "problem"))?;
                problems.iter().try_for_each(|problem| write!(f, "\n{problem}"))
            }
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Unreadable { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// The problems that were found.
#[derive(Default)]
pub(super) struct Problems {
    kinds: Vec<Kind>,
    /// Hashes, because there may be as many problems as lines.
    seen: HashSet<u64>,
}

/// Problems of the same kind.
struct Kind {
    /// Whether it is in a file, and what the messages have in common.
    key: (bool, String),
    first: Problem,
    /// The first other lines.
    also: Vec<u64>,
    count: usize,
}

impl Problems {
    /// Adds a problem, once: the jobs of a matrix share their lines.
    pub(super) fn add(&mut self, problem: Problem) {
        let mut hasher = DefaultHasher::new();
        (problem.line, &problem.message).hash(&mut hasher);
        if !self.seen.insert(hasher.finish()) {
            return;
        }
        let key = (problem.file.is_some(), without_values(&problem.message));
        if let Some(kind) = self.kinds.iter_mut().find(|kind| kind.key == key) {
            kind.count += 1;
            if kind.also.len() < MOST_LINES {
                kind.also.push(problem.line);
            }
        } else if self.kinds.len() < MOST_SHOWN {
            self.kinds.push(Kind { key, first: problem, also: Vec::new(), count: 1 });
        }
    }

    pub(super) fn count(&self) -> usize {
        self.seen.len()
    }

    /// The first problem of each kind, and the number of problems of other kinds.
    pub(super) fn by_kind(self) -> (Vec<Problem>, usize) {
        let shown: usize = self.kinds.iter().map(|kind| kind.count).sum();
        let more = self.seen.len() - shown;
        (self.kinds.into_iter().map(Kind::problem).collect(), more)
    }
}

impl Kind {
    fn problem(self) -> Problem {
        let Self { mut first, also, count, .. } = self;
        let lines = also.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        first.message += &match (&also[..], count - 1 - also.len()) {
            ([], _) => String::new(),
            ([_], 0) => format!(" (also on line {lines})"),
            (_, 0) => format!(" (also on lines {lines})"),
            (_, more) => format!(" (also on lines {lines} and {more} more)"),
        };
        first
    }
}

/// What messages of the same kind have in common: all but numbers and paths. Quoted names make a
/// difference.
fn without_values(message: &str) -> String {
    let is_value = |word: &&str| {
        let word = word.trim_end_matches(['.', ',', ';', ':']);
        !word.starts_with('`') && word.contains(|c: char| c.is_ascii_digit() || "/.".contains(c))
    };
    message.split(' ').filter(|word| !is_value(word)).collect::<Vec<_>>().join(" ")
}
