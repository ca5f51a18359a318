//! The arguments of a run: those that describe new jobs, and those about how to run jobs.

use std::{
    collections::HashSet,
    ffi::OsString,
    fmt,
    io::BufReader,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{ArgMatches, Args, Id, ValueHint, parser::ValueSource, value_parser};

use super::{super::place::Places, servers};
use crate::{
    args::{
        model::{self, Setting, chosen, model_names},
        options::{self, MOST, SIDES},
        request::{given, text_of},
    },
    failure::Failure,
    jobfile::{self, Cell, DEFAULT_TARGET, Defaults, FileJob, Format, List, Matrix},
    making::{checks::masks, upright},
    models::{self, SEED},
    output::Output,
    text::{duration, one_line, parse},
};
use imagekiln::text::counted;
use imagekiln_batch::Price;
use imagekiln_label::Template;

/// The fields for which this command does not make a flag from the contract: the prompt and the
/// seed have their own flags, which take several values, and a ledger does not store secrets.
pub const ELSEWHERE: [&str; 3] = ["prompt", SEED, "webhook_secret"];

/// The maximum number of columns that a message names.
const MOST_COLUMNS: usize = 10;

/// The name of standard input in messages.
const STDIN: &str = "stdin";

/// Hides the vector from clap, which would treat an option of the type `Vec` as one that can be
/// repeated.
type Seeds = Vec<i64>;

/// The options that only apply to new jobs.
#[derive(Args)]
#[command(next_help_heading = "Jobs")]
pub struct JobOptions {
    /// A file with a job per line: .jsonl has JSON objects, .csv and .tsv a header with the names
    /// of fields, .txt prompts; `-` is standard input. Jobs also have `model`, `name`, `target`,
    /// `group`, `priority` and, in .jsonl, `metadata`
    #[arg(value_name = "JOBS", value_hint = ValueHint::FilePath, help_heading = None::<&str>)]
    jobs: Option<OsString>,
    /// The format of JOBS, if its extension does not tell it
    #[arg(long, hide_short_help = true)]
    format: Option<Format>,
    /// The column or the member of JOBS with the prompt [default: `prompt`; without one, `Prompt`,
    /// `prompts`, `text_prompt`, `prompt_text`, `text` or `caption`]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    prompt_column: Option<String>,
    /// Leave out the lines of a text file that begin with `#`, which otherwise are prompts, too
    #[arg(long, hide_short_help = true)]
    skip_comments: bool,
    /// Accept masks that are transparent, in color, black everywhere or white everywhere
    #[arg(long, hide_short_help = true)]
    any_mask: bool,
    /// Send photos as viewers show them: JPEG, PNG and WebP images with an EXIF orientation are
    /// copied upright to a directory beside the ledger; keep it until the jobs have ended
    #[arg(long, hide_short_help = true)]
    pub upright: bool,
    /// Pay again for jobs with the request and the seed of others, which are refused otherwise
    #[arg(long, hide_short_help = true)]
    pub again: bool,
    /// Without JOBS: a prompt; each prompt is combined with each seed and each model
    #[arg(long, value_name = "TEXT", conflicts_with = "jobs")]
    prompt: Vec<String>,
    /// Without JOBS: a file with a prompt per line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["jobs", "format"])]
    #[arg(value_hint = ValueHint::FilePath, hide_short_help = true)]
    prompt_file: Option<PathBuf>,
    /// How many pictures to make of each job [default: 1]
    #[arg(long, short = 'n', value_name = "N", conflicts_with = "seed")]
    #[arg(value_parser = value_parser!(u16).range(1..=MOST as i64))]
    count: Option<u16>,
    /// The size in pixels, for jobs that do not set one
    #[arg(long, short, value_name = "WIDTHxHEIGHT", value_parser = parse::size)]
    size: Option<[u32; 2]>,
    /// The seed; without JOBS, also inclusive ranges and lists, such as 1..8 or 1,5,9 [default: one
    /// for each job, which depends only on its name]
    #[arg(long, value_name = "SEEDS", value_parser = parse::seeds, allow_negative_numbers = true)]
    seed: Option<Seeds>,
    #[arg(long, short, value_name = "MODELS", value_delimiter = ',', hide_possible_values = true)]
    #[arg(value_parser = model_names(models::models()))]
    #[arg(help = format!(
        "The model of jobs that do not set one; the fields of the first one are the flags below. \
         Without JOBS, also a list [default: {}]",
        models::DEFAULT
    ))]
    model: Vec<String>,
    /// The path of each picture below the output, for jobs that do not set a target
    #[arg(long, value_name = "TEMPLATE", default_value = DEFAULT_TARGET, hide_short_help = true)]
    names: String,
    /// The group of jobs that do not set one: a user, an order or a campaign, for limits and
    /// reports
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    group: Option<String>,
    /// The priority of jobs that do not set one; those with a higher one are submitted first
    /// [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true, hide_short_help = true)]
    priority: Option<i64>,
}

/// The options of every run.
#[derive(Args)]
#[command(next_help_heading = None::<&str>)]
pub struct RunOptions {
    #[command(flatten)]
    pub places: Places,
    /// The maximum number of active jobs: those between submission and saved picture [default: as
    /// many as the service allows, up to 256]
    #[arg(long, hide_short_help = true, value_name = "N")]
    #[arg(value_parser = value_parser!(u16).range(1..))]
    pub max_active: Option<u16>,
    /// The maximum cost of the ledger: that of all submissions, including earlier runs; `kiln batch
    /// limits --budget` replaces it
    #[arg(long, value_name = "CREDITS", value_parser = parse::credits)]
    pub budget: Option<f64>,
    /// The price of a job: credits for each job, such as 4, for each megapixel, such as 0.5/MP, or
    /// both, such as 1+0.5/MP. It is for budgets and --dry-run, if the ledger has none
    #[arg(long, value_parser = parse::price)]
    pub price: Option<Price>,
    /// Archive jobs this long after they ended, such as 30d; see `kiln batch jobs archive`
    #[arg(long, value_name = "DURATION", value_parser = duration, hide_short_help = true)]
    pub archive_after: Option<Duration>,
    /// Submit jobs although another ledger has paid for pictures of --output, or this one was
    /// copied or has lost submissions
    #[arg(long, hide_short_help = true)]
    pub pay_again: bool,
    /// Validate all jobs and print what would run; sends nothing, and needs no key
    #[arg(long)]
    pub dry_run: bool,
    /// Add the jobs to the ledger and print them, for `kiln batch advance`; sends nothing, and
    /// needs no key. `kiln batch limits` sets limits
    #[arg(long, hide_short_help = true, conflicts_with_all = [
        "dry_run", "max_active", "budget", "price", "archive_after", "pay_again",
        "metrics", "listen",
    ])]
    pub add_only: bool,
    /// Serves the state of the ledger at http://ADDRESS/metrics for Prometheus while the run is
    /// open; port 0 picks a free port
    #[arg(long, value_name = "ADDRESS", hide_short_help = true)]
    pub metrics: Option<SocketAddr>,
    #[command(flatten)]
    pub webhooks: servers::WebhookOptions,
}

pub fn is_given(matches: &ArgMatches, id: &str) -> bool {
    matches.value_source(id) == Some(ValueSource::CommandLine)
}

/// Whether the command line has arguments that only apply to new jobs.
pub fn describe_jobs(matches: &ArgMatches) -> bool {
    let options = options::of::<JobOptions>();
    let describes = |id: &str| {
        let is_extra = ["extra", "extra-image"].contains(&id);
        is_extra || model::is_of_request(id) || options.iter().any(|option| option.get_id() == id)
    };
    matches.ids().map(Id::as_str).any(|id| describes(id) && is_given(matches, id))
}

impl JobOptions {
    /// Returns where the jobs come from. Returns `None` if the arguments name no jobs.
    pub fn source(&self) -> Result<Option<Source>, Failure> {
        let seeds = self.seed.clone().unwrap_or_default();
        let mut models = self.model.clone();
        let mut seen = HashSet::new();
        models.retain(|model| seen.insert(model.clone()));
        if let Some(jobs) = &self.jobs {
            if seeds.len() > 1 || models.len() > 1 {
                let problem = "several seeds or models are given with a job file";
                return Err(Failure::usage(problem).advise(
                    "nothing was sent; set them in the file, or pass the prompts with \
                     --prompt-file",
                ));
            }
            return match self.format {
                format if jobs != "-" => Ok(Some(Source::File { path: jobs.into(), format })),
                Some(format) => Ok(Some(Source::Stdin(format))),
                None => Err(Failure::usage("the format of standard input is not known")
                    .advise("nothing was sent; add --format jsonl, csv, tsv or text")),
            };
        }
        let (prompts, prompt_file) = (self.prompt.clone(), self.prompt_file.clone());
        let has_prompts = !prompts.is_empty() || prompt_file.is_some();
        Ok(has_prompts.then_some(Source::Matrix(Matrix { prompts, prompt_file, seeds, models })))
    }

    /// Returns the values for everything that a job does not set itself.
    pub fn defaults(&self, matches: &ArgMatches, source: &Source) -> Result<Defaults, Failure> {
        let model = chosen(matches)?;
        Template::parse(&self.names).map_err(|error| {
            Failure::usage(format!("invalid --names: {error}")).advise("nothing was sent")
        })?;
        let mut settings = Vec::new();
        let mut set = |key: &str, value| settings.push(jobfile::Setting::new(key, value));
        let text = |text: &str| Cell::Text(text.to_owned());
        for parameter in model.path_parameters {
            if let Some(given) = matches.get_one::<String>(&model::parameter_id(parameter.name)) {
                set(parameter.name, text(given));
            }
        }
        for field in model.fields.iter().filter(|field| !ELSEWHERE.contains(&field.name)) {
            if let Some(value) = given(matches, field.name) {
                // A ledger stores paths as text, so a path that is not valid Unicode is an error.
                set(field.name, text(text_of(field.name, value)?));
            }
        }
        for (name, side) in SIDES.into_iter().zip(self.size.into_iter().flatten()) {
            set(name, Cell::Json(side.into()));
        }
        // The seeds of a matrix are not defaults: they are combined with its prompts.
        if !matches!(source, Source::Matrix(_))
            && let Some([seed]) = self.seed.as_deref()
        {
            set(SEED, Cell::Json((*seed).into()));
        }
        for (id, part) in [("extra", "extra"), ("extra-image", "extra_images")] {
            for (name, value) in matches.get_many::<Setting>(id).into_iter().flatten() {
                set(&format!("{part}.{name}"), text(text_of(name, value)?));
            }
        }
        Ok(Defaults {
            settings,
            target: self.names.clone(),
            group: self.group.clone(),
            priority: self.priority.unwrap_or_default(),
            prompt_column: self.prompt_column.clone(),
            skip_comments: self.skip_comments,
            any_mask: self.any_mask,
            count: self.count.unwrap_or(1).into(),
            ..Defaults::new(model)
        })
    }
}

/// Where the jobs come from.
pub enum Source {
    File { path: PathBuf, format: Option<Format> },
    Stdin(Format),
    Matrix(Matrix),
}

impl Source {
    /// Reads all jobs, and prints notes and warnings about them.
    pub fn read(&self, output: &Output, defaults: &Defaults) -> Result<List, Failure> {
        let stdin = &output.process.stdin;
        let list = match self {
            Self::File { path, format } => jobfile::read(path, *format, defaults)?,
            Self::Stdin(format) => {
                let end = if stdin.is_terminal { "; Ctrl-D ends them" } else { "" };
                output.note(&format!("waiting for jobs on standard input{end}"));
                let place = (STDIN, Path::new(""));
                jobfile::read_from(BufReader::new(stdin), place, *format, defaults)?
            }
            Self::Matrix(matrix) => matrix.jobs(defaults)?,
        };
        self.warn(output, &list);
        Ok(list)
    }

    /// Reports what the reader has assumed, such as the column with the prompts, before the run
    /// pays for anything.
    fn warn(&self, output: &Output, list: &List) {
        let quoted = |names: &[String]| {
            let shown = names.iter().take(MOST_COLUMNS).map(|name| format!("`{}`", one_line(name)));
            let more = names.len().saturating_sub(MOST_COLUMNS);
            let more = (more > 0).then(|| format!("{more} more"));
            shown.chain(more).collect::<Vec<_>>().join(", ")
        };
        if !list.prompt_columns.is_empty() {
            output.note(&format!("the prompts of {self} are {}", quoted(&list.prompt_columns)));
        }
        if !list.metadata_columns.is_empty() {
            let names = quoted(&list.metadata_columns);
            output.note(&format!("not sent, but kept as metadata of the jobs: {names}"));
        }
        if let [first, more @ ..] = &list.comments[..] {
            let lines = match more {
                [] => format!("line {first} of {self} begins with `#`"),
                more => format!("line {first} of {self} and {} more begin with `#`", more.len()),
            };
            output.warning(&format!(
                "{lines}: each makes a picture, unless you pass --skip-comments"
            ));
        }
        self.warn_of_masks(output, &list.jobs);
    }

    /// Warns of a mask that fits its image both as the image is stored and as viewers show it,
    /// because nobody knows for which of the two it was drawn.
    fn warn_of_masks(&self, output: &Output, jobs: &[FileJob]) {
        let ambiguous = |job: &FileJob| {
            let mut fields = masks(&job.request).map(|(field, _)| field);
            fields.find_map(|field| upright::ambiguous_mask(&job.request, field))
        };
        let mut found = jobs.iter().filter_map(|job| Some((job.line, ambiguous(job)?)));
        let Some((line, first)) = found.next() else { return };
        let place = if line > 0 { format!("{self}:{line}") } else { self.to_string() };
        let more = match found.count() {
            0 => String::new(),
            more => format!(" (also in {})", counted(more as u64, "other job")),
        };
        output.warning(&format!("{place}: {first}{more}: {}", upright::MASK_ADVICE));
    }
}

/// Prints the source as messages name it, for example in `jobs.jsonl:17`.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, .. } | Self::Matrix(Matrix { prompt_file: Some(path), .. }) => {
                path.display().fmt(f)
            }
            Self::Stdin(_) => f.write_str(STDIN),
            Self::Matrix(_) => f.write_str("--prompt"),
        }
    }
}
