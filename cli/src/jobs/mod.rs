//! Job files: reads the jobs of a batch before any of them is submitted.
//!
//! A file is read line by line, and every problem is reported with its line. If there is one, no
//! job of the file is run.

mod csv;
mod draft;
mod fields;
mod image;
mod jsonl;
mod lines;
mod matrix;
mod names;
mod planner;
mod problem;
mod source;
mod text;

#[cfg(test)]
mod tests;

use std::io::{self, BufRead};

use serde_json::Value;

pub use self::draft::{Cell, Part, Setting};
pub use self::source::{Format, Matrix, Source};

use self::planner::Planner;
use crate::{failure::Failure, process::Input};
use imagekiln::{Operation, Request};

/// The template of targets that the user does not set.
pub const DEFAULT_TARGET: &str = "{index:04}-{slug}-{seed}.{ext}";

/// A valid job.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedJob {
    /// The line on which the job begins in its file, from 1. 0 if it comes from the command line.
    pub line: u64,
    /// Unique among the jobs, and the same each time the file is read.
    pub name: String,
    /// The template of the path below the output directory.
    pub target: String,
    pub request: Request,
    pub group: Option<String>,
    pub priority: Option<i64>,
    /// An object.
    pub metadata: Option<Value>,
}

/// The defaults of every job.
pub struct Defaults {
    pub model: &'static Operation,
    /// Fields from the command line. Paths of images are relative to the current directory.
    pub settings: Vec<Setting>,
    pub target: String,
}

/// Reads all jobs of a source, which may be standard input.
pub fn read(
    stdin: &Input,
    source: &Source,
    defaults: &Defaults,
) -> Result<Vec<PlannedJob>, Failure> {
    let mut planner = Planner::new(source, defaults);
    match source {
        Source::Matrix(matrix) => matrix::read(matrix, &mut planner)?,
        Source::File { format, .. } | Source::Stdin(format) => {
            lines_of(source.open(stdin)?, *format, &mut planner)
                .map_err(|error| Failure::file(format!("could not read {source}"), error))?;
        }
    }
    planner.finish(source)
}

/// Reads jobs without a file.
#[cfg(any(test, feature = "__fuzzing"))]
pub fn read_bytes(
    format: Format,
    bytes: &[u8],
    defaults: &Defaults,
) -> Result<Vec<PlannedJob>, Failure> {
    let source = Source::Stdin(format);
    let mut planner = Planner::new(&source, defaults);
    lines_of(bytes, format, &mut planner)
        .map_err(|error| Failure::file("could not read the bytes".to_owned(), error))?;
    planner.finish(&source)
}

fn lines_of(input: impl BufRead, format: Format, planner: &mut Planner) -> io::Result<()> {
    match format {
        Format::Jsonl => jsonl::read(input, planner),
        Format::Csv => csv::read(input, planner),
        Format::Text => text::read(input, planner),
    }
}
