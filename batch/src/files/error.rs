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

/// The maximum number of problems that are reported in full.
const MOST_SHOWN: usize = 20;

/// A problem of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The file, as the caller named it. `None` for a prompt that is not in a file.
    pub file: Option<String>,
    /// The line on which the job begins, from 1. 0 without a file.
    pub line: u64,
    /// For example `width: is 16; must be at least 64`. Safe to print.
    pub message: String,
}

/// As in `jobs.csv:3: prompt: is required`.
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
        /// The first twenty problems.
        problems: Vec<Problem>,
        /// The number of all problems.
        count: usize,
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
            Self::Invalid { file, problems, count } => {
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
    pub(super) shown: Vec<Problem>,
    /// Hashes, because there may be as many problems as lines.
    seen: HashSet<u64>,
}

impl Problems {
    /// Adds a problem, once: the jobs of a matrix share their lines.
    pub(super) fn add(&mut self, problem: Problem) {
        let mut hasher = DefaultHasher::new();
        (problem.line, &problem.message).hash(&mut hasher);
        if self.seen.insert(hasher.finish()) && self.shown.len() < MOST_SHOWN {
            self.shown.push(problem);
        }
    }

    pub(super) fn count(&self) -> usize {
        self.seen.len()
    }
}
