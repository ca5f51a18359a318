//! Job files: reads the jobs of a batch from CSV, TSV, JSON lines or text, before any of them is
//! submitted.
//!
//! A job has the fields of its model as members, and also `model`, `name`, `target`, `group`,
//! `priority`, `metadata`, `extra` and `extra_images`. A column such as `extra.detail` sets one
//! field that the contract does not list. Images are paths relative to the file, or URLs.
//!
//! Prompt lists that people publish need no changes. If the model requires a prompt and no member
//! is called `prompt`, the prompt is the member `Prompt`, `prompts`, `text_prompt`, `prompt_text`,
//! `text` or `caption`, whatever the case of the letters is. Members that are not fields of any
//! model become metadata, unless their names look like misspelled fields.
//!
//! The reader checks every job against the contract. If there are problems, it returns no jobs, but
//! a failure that lists each kind of problem once, with the first lines on which it occurs.
//!
//! A job without a `name` gets one that depends only on its request. Users can add, remove and sort
//! lines: when the file is read again, the ledger recognizes the unchanged jobs by their names and
//! does not pay for them again.

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
    args::{
        output::FORMAT,
        request::{seed_of, with_seed},
    },
    failure::Failure,
    models::{PROMPT, SEED},
};
use imagekiln::{FileKind, Operation, OperationKind, Request};
use imagekiln_batch::Job;
use imagekiln_label::{Error, Template, TemplateFields};

/// The target of jobs for which neither the file nor the defaults set one.
pub const DEFAULT_TARGET: &str = "{index:04}-{slug}-{seed}.{ext}";

// The variants have no comments, because `--help` would show them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Jsonl,
    Csv,
    Tsv,
    Text,
}

impl Format {
    /// The format of a file with this extension, or text if there is no extension. `None` for any
    /// other extension: the file may not be a list of prompts, so its lines must not be paid for as
    /// if it were one.
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
    /// The number of the line on which the job begins in its file, starting at 1. 0 for a prompt
    /// from the command line.
    pub line: u64,
    /// Unique among the jobs of the file, and the same each time the file is read.
    pub name: String,
    /// The template for the path of the picture below the output.
    pub target: String,
    /// The request.
    pub request: Request,
    /// The group to which limits and reports assign the job.
    pub group: Option<String>,
    /// The priority, 0 by default.
    pub priority: i64,
    /// An object that the ledger stores with the job, and that is not sent.
    pub metadata: Option<Value>,
}

impl FileJob {
    /// Sets the seed of the picture, unless the job already has one or its model has no seed. The
    /// seed depends only on the name of the job, so the job is the same each time the file is read.
    /// A ledger that has the same job without a seed refuses it.
    pub fn with_seed(self) -> Self {
        let request = with_seed(self.request, seed_of(&self.name));
        Self { request, ..self }
    }

    /// The path of the picture below the output, as far as it is known before the job is submitted.
    /// `number` is the position of the job in the ledger, starting at 1.
    ///
    /// The extension is that of the format in the request, or else of the default format in the
    /// contract. `{ext}`, `{date}` and `{id}` stay in the path while their values are not known. If
    /// another file has the path by the time the picture is saved, the picture gets another name.
    pub fn expected_path(&self, number: u64) -> Result<String, Error> {
        let template = Template::parse(&self.target)?;
        let operation = self.request.operation();
        let default = operation.field(FORMAT).and_then(|field| field.default);
        let default = default.and_then(|text| text.parse::<Value>().ok());
        let default = default.as_ref().and_then(Value::as_str);
        // If the request sets the format to `null`, nobody knows which format the service chooses.
        let default = default.filter(|_| !self.request.has_field(FORMAT));
        let format = self.request.text(FORMAT).or(default);
        // For models that make videos, the contract also lists a format of pictures.
        let format = format.filter(|_| operation.kind != Some(OperationKind::Video));
        let kind = format.and_then(FileKind::of_extension);
        let filled = template.filled(&TemplateFields {
            index: number,
            name: &self.name,
            prompt: self.request.text(PROMPT).unwrap_or_default(),
            seed: self.request.integer(SEED),
            model: &self.request.model_name(),
            ext: kind.map_or("", FileKind::extension),
            ..TemplateFields::default()
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

/// The jobs of a file or a matrix, and how the reader interpreted the file.
#[derive(Debug, Default, PartialEq)]
pub struct List {
    /// The jobs, in the order of their lines.
    pub jobs: Vec<FileJob>,
    /// The columns or members that were read as the prompt, if they are not called `prompt`.
    pub prompt_columns: Vec<String>,
    /// The columns and members that are not sent, because no model has such a field. Their values
    /// are in [`FileJob::metadata`].
    pub metadata_columns: Vec<String>,
    /// The numbers of the lines of a text file that begin with `#` and were read as prompts.
    pub comments: Vec<u64>,
    /// The number of different images of which jobs send an upright copy; see
    /// [`Defaults::upright`].
    pub upright: usize,
}

/// The values for jobs that do not set their own, and options of the reader.
#[derive(Debug, Clone)]
pub struct Defaults {
    pub model: &'static Operation,
    /// The fields of all jobs. Paths of images are relative to the current directory.
    pub settings: Vec<Setting>,
    pub target: String,
    pub group: Option<String>,
    pub priority: i64,
    /// The column or member with the prompt. If it is not `prompt`, a column that is called
    /// `prompt` becomes metadata.
    pub prompt_column: Option<String>,
    /// Whether to leave out the lines of text files that begin with `#`.
    pub skip_comments: bool,
    /// How often to make the picture of each job.
    pub count: usize,
    /// Whether to accept masks with a [problem](crate::making::checks::mask_problem).
    pub any_mask: bool,
    /// If set, jobs send upright copies of images that are stored turned.
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

/// Reads all jobs of a file. Without `format`, the extension of the file decides. May block,
/// because it also reads the headers of images.
pub fn read(path: &Path, format: Option<Format>, defaults: &Defaults) -> Result<List, Failure> {
    let format = format.or_else(|| Format::of_path(path)).ok_or_else(|| {
        Failure::usage(format!("the format of {} is not known", path.display()))
            .advise("nothing was sent; add --format jsonl, csv, tsv or text")
    })?;
    let (name, folder) = (path.display().to_string(), path.parent().unwrap_or(path));
    read_from(open(path)?, (&name, folder), format, defaults)
}

/// Reads all jobs of an input, which failures call `name`. Paths of images are relative to the
/// folder, which is the current directory if it is empty.
pub fn read_from(
    input: impl BufRead,
    (name, folder): (&str, &Path),
    format: Format,
    defaults: &Defaults,
) -> Result<List, Failure> {
    let mut planner = Planner::new(name.to_owned(), folder, defaults);
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
