//! Job files: reads the jobs of a batch from CSV, TSV, JSON lines or text, before any is submitted.
//!
//! | format | content |
//! |---|---|
//! | [`Csv`](Format::Csv) | a header with the names of members, and a record per job |
//! | [`Tsv`](Format::Tsv) | the same, with tabs between the cells |
//! | [`Jsonl`](Format::Jsonl) | a JSON object per job |
//! | [`Text`](Format::Text) | a prompt per line |
//!
//! The members of a job are the fields of its model, and `model`, `name`, `target`, `group`,
//! `priority`, `metadata`, `extra` and `extra_images`. A column such as `extra.detail` sets one
//! field that the contract does not list. Images are paths relative to the file, or URLs.
//!
//! Published lists need no changes. If nothing is called `prompt`, the prompt is what is called
//! `Prompt`, `prompts`, `text_prompt`, `prompt_text`, `text` or `caption`, in any case. Names that
//! no model has become metadata, unless they look like a misspelled field. [`List`] says both.
//!
//! Every job is checked against the contract, and every kind of problem has its lines. If there is
//! one, no job is returned.
//!
//! A job without a `name` gets one that depends only on its request. Lines can be added, removed
//! and sorted: if the same file is read again, the ledger knows the jobs, and does not pay for them
//! again.
//!
//! ```
//! use imagekiln_batch::{Ledger, files::{self, Defaults}};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let file = directory.path().join("foxes.csv");
//! # std::fs::write(&file, "prompt,seed\na red fox,1\nan arctic fox,2\n")?;
//! # let path = directory.path().join("foxes.db");
//! let model = imagekiln::find_model("gen-2-pro").ok_or("the contract has no such model")?;
//! let defaults = Defaults::new(model).field("width", 512).group("foxes");
//! let jobs = files::read(&file, None, &defaults)?.jobs;
//! assert_eq!(jobs[1].line, 3);
//!
//! let ledger = Ledger::open(path).await?;
//! ledger.add(jobs.into_iter().map(Into::into)).await?;
//! assert_eq!(ledger.jobs().await?.len(), 2);
//! # Ok(())
//! # }
//! ```

mod csv;
mod draft;
mod error;
mod fields;
mod jsonl;
mod lines;
mod names;
mod planner;
mod prompts;
mod upright;

#[cfg(test)]
mod tests;

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};

use imagekiln::{FileKind, Operation, OperationKind, Request, text::one_line};
use serde_json::Value;

use self::{
    draft::{Cell, Setting},
    planner::Planner,
};
pub use self::{
    error::{Error, Problem},
    prompts::Matrix,
};
use crate::{Job, Template, TemplateFields, seeds};

/// The target of jobs that do not set one, unless [`Defaults::target`] sets another.
pub const DEFAULT_TARGET: &str = "{index:04}-{slug}-{seed}.{ext}";

/// The field with the format of the picture.
const FORMAT: &str = "output_format";

/// The maximum length of a printed name, in characters.
const LONGEST_NAME: usize = 100;

/// The format of a job file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A JSON object per line.
    Jsonl,
    /// A header, and a record per job.
    Csv,
    /// CSV with tabs between the cells, and a job on each line.
    Tsv,
    /// A prompt per line.
    Text,
}

impl Format {
    /// The names of the formats.
    pub const NAMES: [&str; 4] = ["jsonl", "csv", "tsv", "text"];

    /// Returns the format with this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "jsonl" => Some(Self::Jsonl),
            "csv" => Some(Self::Csv),
            "tsv" => Some(Self::Tsv),
            "text" => Some(Self::Text),
            _ => None,
        }
    }

    /// Returns the format that the extension of a file tells: `.jsonl`, `.ndjson`, `.csv`, `.tsv`,
    /// `.txt` or none. A file with another extension may not be meant as a list of prompts, so it
    /// must not be paid for line by line.
    pub fn of_path(path: &Path) -> Option<Self> {
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

/// A valid job of a file or a matrix. Convert it to a [`Job`] to add it to a ledger.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FileJob {
    /// The line on which the job begins in its file, from 1. 0 for a prompt that is not in a file.
    pub line: u64,
    /// Unique among the jobs, and the same each time the file is read.
    pub name: String,
    /// The template of the path below the output.
    pub target: String,
    /// The request.
    pub request: Request,
    /// See [`Job::group`].
    pub group: Option<String>,
    /// See [`Job::priority`].
    pub priority: i64,
    /// See [`Job::metadata`]. An object.
    pub metadata: Option<Value>,
}

impl FileJob {
    /// Sets the seed of the picture, unless the job has one or its model has none. It depends only
    /// on the name of the job, so the job is the same each time the file is read. A ledger that has
    /// the job without the seed keeps it as it is.
    pub fn with_seed(self) -> Self {
        Self { request: seeds::with_seed(&self.name, self.request), ..self }
    }

    /// Returns the path of the picture below the output, as far as it is known before the job is
    /// submitted. `number` is the position of the job in the ledger, starting at 1.
    ///
    /// The extension is that of the format that the request or the contract says. `{ext}` and
    /// `{id}` stay if they are not known yet. A picture whose name is taken gets another one.
    ///
    /// # Errors
    ///
    /// Kind [`Job`](crate::ErrorKind::Job): the target of the [`Defaults`] is not a
    /// [`Template`].
    pub fn expected_path(&self, number: u64) -> Result<String, crate::Error> {
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
            prompt: self.request.text("prompt").unwrap_or_default(),
            seed: self.request.integer("seed"),
            model: &self.request.model_name(),
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
        Self { group, metadata, ..Self::new(name, target, request).priority(priority) }
    }
}

/// The jobs of a file or a matrix, and what the reader decided about it.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct List {
    /// The jobs, in the order of their lines.
    pub jobs: Vec<FileJob>,
    /// What the prompts are called, if not `prompt`.
    pub prompt_columns: Vec<String>,
    /// The columns and members that are not sent, because no model has them. They are members of
    /// [`FileJob::metadata`].
    pub metadata_columns: Vec<String>,
    /// The lines of a text file that begin with `#` and are prompts, because
    /// [`Defaults::skip_comments`] is not set.
    pub comments: Vec<u64>,
    /// The number of different images that jobs send turned; see [`Defaults::upright`].
    pub upright: usize,
}

/// What holds for every job that does not set it itself.
#[derive(Debug, Clone)]
#[must_use = "defaults do nothing until jobs are read"]
pub struct Defaults {
    model: &'static Operation,
    settings: Vec<Setting>,
    target: String,
    group: Option<String>,
    priority: i64,
    prompt_column: Option<String>,
    skip_comments: bool,
    any_mask: bool,
    upright: Option<upright::Settings>,
}

impl Defaults {
    /// Creates the defaults of jobs of this model.
    pub fn new(model: &'static Operation) -> Self {
        Self {
            model,
            settings: Vec::new(),
            target: DEFAULT_TARGET.to_owned(),
            group: None,
            priority: 0,
            prompt_column: None,
            skip_comments: false,
            any_mask: false,
            upright: None,
        }
    }

    /// Sets a field, or `extra.NAME` or `extra_images.NAME`. A path of an image is relative to the
    /// current directory.
    pub fn field(self, key: &str, value: impl Into<Value>) -> Self {
        self.with(Setting::new(key, Cell::Json(value.into())))
    }

    /// Sets a field to text of which the contract says what it is, as in a CSV file.
    pub fn field_text(self, key: &str, text: impl Into<String>) -> Self {
        self.with(Setting::new(key, Cell::Text(text.into())))
    }

    fn with(mut self, setting: Setting) -> Self {
        self.settings.push(setting);
        self
    }

    /// Sets the target; see [`Template`]. The default is [`DEFAULT_TARGET`].
    pub fn target(self, target: impl Into<String>) -> Self {
        Self { target: target.into(), ..self }
    }

    /// Sets the group; see [`Job::group`].
    pub fn group(self, group: impl Into<String>) -> Self {
        Self { group: Some(group.into()), ..self }
    }

    /// Sets the priority; see [`Job::priority`].
    pub fn priority(self, priority: i64) -> Self {
        Self { priority, ..self }
    }

    /// Sets the name of the column or the member with the prompt. If it is another one than
    /// `prompt`, a column `prompt` is metadata.
    pub fn prompt_column(self, name: impl Into<String>) -> Self {
        Self { prompt_column: Some(name.into()), ..self }
    }

    /// Leaves out the lines of text files that begin with `#`, which are prompts by default.
    pub fn skip_comments(self) -> Self {
        Self { skip_comments: true, ..self }
    }

    /// Accepts masks that are transparent, in color, or of one color; see
    /// [`mask_problem`](crate::mask_problem).
    pub fn any_mask(self) -> Self {
        Self { any_mask: true, ..self }
    }
}

/// Reads all jobs of a file. Without `format`, its extension tells the format.
///
/// May block, because it also reads the headers of images.
///
/// # Errors
///
/// The file cannot be read, its format is not known, it contains no jobs, or some are invalid.
pub fn read(path: &Path, format: Option<Format>, defaults: &Defaults) -> Result<List, Error> {
    let format = format.or_else(|| Format::of_path(path));
    let format = format.ok_or_else(|| Error::UnknownFormat(path.to_owned()))?;
    let folder = path.parent().unwrap_or(path);
    let name = path.display().to_string();
    jobs_of(open(path)?, format, Planner::new(Some(name), folder, defaults))
}

/// Reads all jobs of another input, such as standard input. `name` is its name in errors. Paths of
/// images are relative to the current directory.
///
/// # Errors
///
/// Those of [`read`].
pub fn read_from(
    input: impl BufRead,
    name: &str,
    format: Format,
    defaults: &Defaults,
) -> Result<List, Error> {
    jobs_of(input, format, Planner::new(Some(name.to_owned()), Path::new(""), defaults))
}

fn jobs_of(input: impl BufRead, format: Format, mut planner: Planner) -> Result<List, Error> {
    let read = match format {
        Format::Jsonl => jsonl::read(input, &mut planner),
        Format::Csv | Format::Tsv => csv::read(input, format == Format::Tsv, &mut planner),
        Format::Text => prompts::read(input, &mut planner),
    };
    read.map_err(|error| planner.unreadable(error))?;
    planner.finish()
}

fn open(path: &Path) -> Result<BufReader<File>, Error> {
    let file = File::open(path).map_err(|source| {
        let message = format!("could not open {}", path.display());
        Error::Unreadable { message, source }
    })?;
    Ok(BufReader::new(file))
}

/// A name from a file, safe to print.
fn shown(name: &str) -> String {
    one_line(name, LONGEST_NAME)
}
