//! The sources of jobs.

use std::{
    ffi::OsStr,
    fmt,
    fs::File,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use crate::{failure::Failure, process::Input};

pub enum Source {
    File { path: PathBuf, format: Format },
    Stdin(Format),
    Matrix(Matrix),
}

/// The values to combine. A matrix without seeds has one job per prompt and model, without a seed.
pub struct Matrix {
    pub prompts: Vec<String>,
    /// A prompt per line.
    pub prompt_file: Option<PathBuf>,
    pub seeds: Vec<i64>,
    /// The names of the models. Without any, the default model.
    pub models: Vec<String>,
}

/// The format of a job file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A JSON object per line.
    Jsonl,
    /// A header, and a record per job.
    Csv,
    /// A prompt per line.
    Text,
}

impl Format {
    pub const NAMES: [&str; 3] = ["jsonl", "csv", "text"];

    pub fn named(name: &str) -> Option<Self> {
        match name {
            "jsonl" => Some(Self::Jsonl),
            "csv" => Some(Self::Csv),
            "text" => Some(Self::Text),
            _ => None,
        }
    }

    /// Returns `None` for other extensions: a file that is not meant as a list of prompts must not
    /// be paid for line by line.
    fn of_extension(path: &Path) -> Option<Self> {
        let Some(extension) = path.extension() else { return Some(Self::Text) };
        match extension.to_str()?.to_ascii_lowercase().as_str() {
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            "csv" => Some(Self::Csv),
            "txt" => Some(Self::Text),
            _ => None,
        }
    }
}

impl Source {
    /// The source that `JOBS` and `--format` name.
    pub fn of(jobs: &OsStr, format: Option<Format>) -> Result<Self, Failure> {
        let unknown = |problem: String| {
            Failure::usage(problem).advise("nothing was sent; add --format jsonl, csv or text")
        };
        if jobs == "-" {
            return format
                .map(Self::Stdin)
                .ok_or_else(|| unknown("the format of standard input is not known".to_owned()));
        }
        let path = PathBuf::from(jobs);
        match format.or_else(|| Format::of_extension(&path)) {
            Some(format) => Ok(Self::File { path, format }),
            None => Err(unknown(format!("the format of {} is not known", path.display()))),
        }
    }

    /// The folder to which the paths of images are relative.
    pub fn folder(&self) -> &Path {
        match self {
            Self::File { path, .. } => path.parent().unwrap_or(path),
            Self::Stdin(_) | Self::Matrix(_) => Path::new(""),
        }
    }

    pub fn open<'a>(&self, stdin: &'a Input) -> Result<Box<dyn BufRead + 'a>, Failure> {
        match self {
            Self::File { path, .. } => open(path),
            Self::Stdin(_) | Self::Matrix(_) => Ok(Box::new(BufReader::new(stdin))),
        }
    }
}

pub fn open(path: &Path) -> Result<Box<dyn BufRead>, Failure> {
    match File::open(path) {
        Ok(file) => Ok(Box::new(BufReader::new(file))),
        Err(error) => Err(Failure::file(format!("could not open {}", path.display()), error)),
    }
}

/// As in `jobs.jsonl:17`.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, .. } => path.display().fmt(f),
            Self::Stdin(_) => f.write_str("stdin"),
            Self::Matrix(Matrix { prompt_file: Some(path), .. }) => path.display().fmt(f),
            Self::Matrix(_) => f.write_str("--prompt"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_decides_the_format() {
        for (name, format) in [
            ("a.jsonl", Some(Format::Jsonl)),
            ("a.NDJSON", Some(Format::Jsonl)),
            ("b/a.csv", Some(Format::Csv)),
            ("a.txt", Some(Format::Text)),
            ("prompts", Some(Format::Text)),
            ("a.json", None),
            ("a.xlsx", None),
        ] {
            assert_eq!(Format::of_extension(Path::new(name)), format, "{name}");
        }
        assert!(Format::NAMES.iter().all(|name| Format::named(name).is_some()));
    }
}
