//! Job files: reads the jobs of a batch from CSV, TSV, JSON lines or text, before any is submitted.
//!
//! The members of a job are the fields of its model, and `model`, `name`, `target`, `group`,
//! `priority`, `metadata`, `extra` and `extra_images`. A column such as `extra.detail` sets one
//! field that the contract does not list. Images are paths relative to the file, or URLs.
//!
//! Published lists need no changes. If nothing is called `prompt`, the prompt is what is called
//! `Prompt`, `prompts`, `text_prompt`, `prompt_text`, `text` or `caption`, in any case. Names that
//! no model has become metadata, unless they look like a misspelled field.
//!
//! Every job is checked against the contract, and every kind of problem has its lines. If there is
//! one, no job is returned.
//!
//! A job without a `name` gets one that depends only on its request. Lines can be added, removed
//! and sorted: if the same file is read again, the ledger knows the jobs, and does not pay for them
//! again.

mod csv;
mod draft;
mod fields;
mod jsonl;
mod lines;
mod names;
mod planner;
mod problems;
mod prompts;
mod upright;

#[cfg(test)]
mod tests;

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};

use clap::ValueEnum;
use serde_json::Value;

use self::planner::Planner;
pub use self::{
    draft::{Cell, Setting},
    prompts::Matrix,
    upright::Upright,
};
use crate::{
    args::seeds,
    failure::Failure,
    models::{PROMPT, SEED},
};
use imagekiln::{FileKind, Operation, OperationKind, Request};
use imagekiln_batch::Job;
use imagekiln_label::{Error, Template, TemplateFields};

/// The target of jobs that do not set one, unless the defaults set another.
pub const DEFAULT_TARGET: &str = "{index:04}-{slug}-{seed}.{ext}";

/// The field with the format of the picture.
const FORMAT: &str = "output_format";

// The variants have no comments, because `--help` would show them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Jsonl,
    Csv,
    Tsv,
    Text,
}

impl Format {
    /// The format that the extension of a file tells. A file with another extension may not be
    /// meant as a list of prompts, so it must not be paid for line by line.
    fn of_path(path: &Path) -> Option<Self> {
        let Some(extension) = path.extension() else { return Some(Self::Text) };
        match extension.to_str()?.to_ascii_lowercase().as_str() {
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            "csv" => Some(Self::Csv),
            "tsv" => Some(Self::Tsv),
            "txt" => Some(Self::Text),
            _ => None,
        }
    }
}

/// A valid job of a file or a matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct FileJob {
    /// The line on which the job begins in its file, from 1. 0 for a prompt that is not in a file.
    pub line: u64,
    /// Unique among the jobs, and the same each time the file is read.
    pub name: String,
    /// The template of the path below the output.
    pub target: String,
    /// The request.
    pub request: Request,
    /// The group for limits and reports.
    pub group: Option<String>,
    /// The priority, 0 by default.
    pub priority: i64,
    /// An object that is not sent.
    pub metadata: Option<Value>,
}

impl FileJob {
    /// Sets the seed of the picture, unless the job has one or its model has none. It depends only
    /// on the name of the job, so the job is the same each time the file is read. A ledger that has
    /// the job without the seed keeps it as it is.
    pub fn with_seed(self) -> Self {
        Self { request: seeds::with_seed(&self.name, self.request), ..self }
    }

    /// The path of the picture below the output, as far as it is known before the job is submitted.
    /// `number` is the position of the job in the ledger, starting at 1.
    ///
    /// The extension is that of the format that the request or the contract says. `{ext}`,
    /// `{date}` and `{id}` stay if they are not known yet. A picture whose name is taken gets
    /// another one.
    pub fn expected_path(&self, number: u64) -> Result<String, Error> {
        let template = Template::parse(&self.target)?;
        let operation = self.request.operation();
        let default = operation.field(FORMAT).and_then(|field| field.default);
        let default = default.and_then(|text| text.parse::<Value>().ok());
        let default = default.as_ref().and_then(Value::as_str);
        // What the service does with `null` is not known.
        let default = default.filter(|_| !self.request.has_field(FORMAT));
        let format = self.request.text(FORMAT).or(default);
        // The contract has a format of pictures for videos, too.
        let format = format.filter(|_| operation.kind != Some(OperationKind::Video));
        let kind = format.and_then(FileKind::of_extension);
        let filled = template.filled(&TemplateFields {
            index: number,
            name: &self.name,
            prompt: self.request.text(PROMPT).unwrap_or_default(),
            seed: self.request.integer(SEED),
            model: &self.request.model_name(),
            date: "",
            id: "",
            ext: kind.map_or("", FileKind::extension),
        });
        Ok(if filled.is_plain() {
            filled.render(&TemplateFields::default())
        } else {
            filled.to_string()
        })
    }
}

impl From<FileJob> for Job {
    fn from(job: FileJob) -> Self {
        let FileJob { name, target, request, group, priority, metadata, .. } = job;
        let job = Self::new(name, target, request).priority(priority);
        let job = group.into_iter().fold(job, Self::group);
        metadata.into_iter().fold(job, Self::metadata)
    }
}

/// The jobs of a file or a matrix, and what the reader decided about it.
#[derive(Debug, Default, PartialEq)]
pub struct List {
    /// The jobs, in the order of their lines.
    pub jobs: Vec<FileJob>,
    /// What the prompts are called, if not `prompt`.
    pub prompt_columns: Vec<String>,
    /// The columns and members that are not sent, because no model has them. They are members of
    /// [`FileJob::metadata`].
    pub metadata_columns: Vec<String>,
    /// The lines of a text file that begin with `#` and are prompts.
    pub comments: Vec<u64>,
    /// The number of different images that jobs send turned; see [`Defaults::upright`].
    pub upright: usize,
}

/// What holds for every job that does not set it itself.
#[derive(Debug, Clone)]
pub struct Defaults {
    pub model: &'static Operation,
    /// Paths of images are relative to the current directory.
    pub settings: Vec<Setting>,
    pub target: String,
    pub group: Option<String>,
    pub priority: i64,
    /// The column or the member with the prompt. If it is another one than `prompt`, a column
    /// `prompt` is metadata.
    pub prompt_column: Option<String>,
    /// Leaves out the lines of text files that begin with `#`.
    pub skip_comments: bool,
    /// How often each job is made.
    pub count: usize,
    /// Accepts masks with a [problem](crate::making::checks::mask_problem).
    pub any_mask: bool,
    /// Turns the images that are stored turned, so that jobs send them as viewers show them.
    pub upright: Option<Upright>,
}

impl Defaults {
    pub fn new(model: &'static Operation) -> Self {
        Self {
            model,
            settings: Vec::new(),
            target: DEFAULT_TARGET.to_owned(),
            group: None,
            priority: 0,
            prompt_column: None,
            skip_comments: false,
            count: 1,
            any_mask: false,
            upright: None,
        }
    }
}

/// Reads all jobs of a file. Without `format`, its extension tells the format. May block, because
/// it also reads the headers of images.
pub fn read(path: &Path, format: Option<Format>, defaults: &Defaults) -> Result<List, Failure> {
    let format = format.or_else(|| Format::of_path(path)).ok_or_else(|| {
        Failure::usage(format!("the format of {} is not known", path.display()))
            .advise("nothing was sent; add --format jsonl, csv, tsv or text")
    })?;
    let folder = path.parent().unwrap_or(path);
    let name = path.display().to_string();
    jobs_of(open(path)?, format, Planner::new(name, folder, defaults))
}

/// Reads all jobs of another input, such as standard input. `name` is its name in failures. Paths
/// of images are relative to the current directory.
pub fn read_from(
    input: impl BufRead,
    name: &str,
    format: Format,
    defaults: &Defaults,
) -> Result<List, Failure> {
    jobs_of(input, format, Planner::new(name.to_owned(), Path::new(""), defaults))
}

fn jobs_of(input: impl BufRead, format: Format, mut planner: Planner) -> Result<List, Failure> {
    let read = match format {
        Format::Jsonl => jsonl::read(input, &mut planner),
        Format::Csv | Format::Tsv => csv::read(input, format == Format::Tsv, &mut planner),
        Format::Text => prompts::read(input, &mut planner),
    };
    read.map_err(|error| planner.unreadable(error))?;
    planner.finish()
}

fn open(path: &Path) -> Result<BufReader<File>, Failure> {
    let file = File::open(path)
        .map_err(|error| Failure::file(format!("could not open {}", path.display()), error))?;
    Ok(BufReader::new(file))
}
