//! The arguments that name the jobs of a batch.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    io::BufReader,
    path::PathBuf,
};

use clap::{
    Arg, ArgAction, ArgMatches, Command, Id, ValueHint, builder::PossibleValuesParser,
    parser::ValueSource, value_parser,
};
use serde_json::Value;

use crate::{
    args::{extra, flag, model},
    commands::chosen_model::{chosen, default_model, model_names},
    context::Context,
    failure::Failure,
    models,
    output::Output,
    text::parse,
};
use imagekiln::{Field, FieldKind, Operation};
use imagekiln_batch::{
    Template,
    files::{self, DEFAULT_TARGET, Defaults, FileJob, Format, Matrix},
};

/// The fields without a flag of their own: two have flags for several values, and a ledger does not
/// store secrets.
const ELSEWHERE: [&str; 3] = ["prompt", SEED, "webhook_secret"];

const SEED: &str = "seed";

/// The name of standard input in messages.
const STDIN: &str = "stdin";

/// Adds the arguments to a command, with the flags of the chosen model and `options`.
pub fn of_model(command: Command, chosen: &'static Operation, options: &[Arg]) -> Command {
    let options = [&own()[..], options].concat();
    let jobs = Arg::new("jobs")
        .value_name("JOBS")
        .value_parser(value_parser!(OsString))
        .value_hint(ValueHint::FilePath)
        .help(
            "A file of jobs: .jsonl has a JSON object per line, .csv a header with the names of \
             fields, .txt a prompt per line; `-` is standard input. Jobs also have `model`, \
             `name`, `target`, `group`, `priority` and, in .jsonl, `metadata`",
        );
    model::with_fields(command.arg(jobs), chosen, &ELSEWHERE, &options)
}

fn own() -> [Arg; 8] {
    let jobs = |name: &'static str| Arg::new(name).long(name).help_heading("Jobs");
    [
        jobs("format")
            .value_name("FORMAT")
            .value_parser(PossibleValuesParser::new(Format::NAMES))
            .help("The format of JOBS, if its extension does not tell it"),
        jobs("prompt")
            .value_name("TEXT")
            .action(ArgAction::Append)
            .conflicts_with("jobs")
            .help("Without JOBS: a prompt; each prompt is combined with each seed and each model"),
        jobs("prompt-file")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .conflicts_with_all(["jobs", "format"])
            .help("Without JOBS: a file with a prompt per line"),
        jobs(SEED)
            .value_name("SEEDS")
            .value_parser(parse::seeds)
            .allow_negative_numbers(true)
            .help("The seed; without JOBS, also inclusive ranges and lists, such as 1..8 or 1,5,9"),
        jobs("model")
            .value_name("MODELS")
            .value_delimiter(',')
            .hide_possible_values(true)
            .value_parser(model_names(models::models()))
            .help(format!(
                "The model of jobs that do not set one; the fields of the first one are the flags \
                 below. Without JOBS, also a list [default: {}]",
                models::DEFAULT
            )),
        jobs("names")
            .value_name("TEMPLATE")
            .default_value(DEFAULT_TARGET)
            .help("The path of each picture below the output, for jobs that do not set a target"),
        jobs("group").value_name("NAME").help(
            "The group of jobs that do not set one: a user, an order or a campaign, for limits and \
             reports",
        ),
        jobs("priority")
            .value_name("N")
            .allow_negative_numbers(true)
            .value_parser(value_parser!(i64))
            .help(
                "The priority of jobs that do not set one; those with a higher one are submitted \
                 first [default: 0]",
            ),
    ]
}

/// The jobs that the arguments name. `None` if they name none.
pub fn source(matches: &ArgMatches) -> Result<Option<Source>, Failure> {
    let texts = |id| -> Vec<String> {
        matches.get_many::<String>(id).into_iter().flatten().cloned().collect()
    };
    let seeds = matches.get_one::<Vec<i64>>(SEED).cloned().unwrap_or_default();
    let mut models = Vec::new();
    for model in texts("model") {
        if !models.contains(&model) {
            models.push(model);
        }
    }
    if let Some(jobs) = matches.get_one::<OsString>("jobs") {
        if seeds.len() > 1 || models.len() > 1 {
            return Err(Failure::usage("several seeds or models are given with a job file").advise(
                "nothing was sent; set them in the file, or pass the prompts with --prompt-file",
            ));
        }
        let format = matches.get_one::<String>("format").and_then(|name| Format::named(name));
        return match format {
            _ if jobs != "-" => Ok(Some(Source::File { path: jobs.into(), format })),
            Some(format) => Ok(Some(Source::Stdin(format))),
            None => Err(Failure::usage("the format of standard input is not known")
                .advise("nothing was sent; add --format jsonl, csv or text")),
        };
    }
    let prompt_file = matches.get_one::<PathBuf>("prompt-file").cloned();
    let prompts = texts("prompt");
    if prompts.is_empty() && prompt_file.is_none() {
        return Ok(None);
    }
    Ok(Some(Source::Matrix(Matrix { prompts, prompt_file, seeds, models })))
}

/// Where the jobs come from.
pub enum Source {
    File { path: PathBuf, format: Option<Format> },
    Stdin(Format),
    Matrix(Matrix),
}

impl Source {
    /// Reads the jobs, before any of them is submitted.
    pub fn read(&self, output: &Output, defaults: &Defaults) -> Result<Vec<FileJob>, Failure> {
        let stdin = &output.process.stdin;
        Ok(match self {
            Self::File { path, format } => files::read(path, *format, defaults)?,
            Self::Stdin(format) => {
                let end = if stdin.is_terminal { "; Ctrl-D ends them" } else { "" };
                output.note(&format!("waiting for jobs on standard input{end}"));
                files::read_from(BufReader::new(stdin), STDIN, *format, defaults)?
            }
            Self::Matrix(matrix) => matrix.jobs(defaults)?,
        })
    }
}

/// As in `jobs.jsonl:17`.
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

/// Whether arguments are given that only apply to new jobs.
pub fn describe_jobs(matches: &ArgMatches) -> bool {
    let describes = |id: &str| {
        ["format", SEED, "model", "names", "group", "priority", "extra", "extra-image"]
            .contains(&id)
            || flag::is_of_request(id)
    };
    let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    matches.ids().map(Id::as_str).any(|id| describes(id) && is_given(id))
}

/// The settings of the flags for every job.
pub fn defaults(
    context: &Context,
    matches: &ArgMatches,
    source: &Source,
) -> Result<Defaults, Failure> {
    let model = chosen(matches, default_model(context)?)?;
    let target = matches.get_one::<String>("names").map_or(DEFAULT_TARGET, String::as_str);
    Template::parse(target).map_err(|error| {
        Failure::usage(format!("invalid --names: {error}")).advise("nothing was sent")
    })?;
    let priority = matches.get_one::<i64>("priority").copied().unwrap_or_default();
    let mut defaults = Defaults::new(model).target(target).priority(priority);
    if let Some(group) = matches.get_one::<String>("group") {
        defaults = defaults.group(group);
    }
    for parameter in model.path_parameters {
        if let Some(text) = matches.get_one::<String>(&flag::parameter_id(parameter.name)) {
            defaults = defaults.field_text(parameter.name, text);
        }
    }
    for field in model.fields.iter().filter(|field| !ELSEWHERE.contains(&field.name)) {
        defaults = with_flag(defaults, matches, field)?;
    }
    // The seeds of a matrix are combined with its prompts.
    if let (Source::File { .. } | Source::Stdin(_), Some([seed])) =
        (source, matches.get_one::<Vec<i64>>(SEED).map(Vec::as_slice))
    {
        defaults = defaults.field(SEED, *seed);
    }
    for (id, part) in [("extra", "extra"), ("extra-image", "extra_images")] {
        let settings = matches.get_many::<extra::Setting>(id).into_iter().flatten();
        for extra::Setting { name, value } in settings {
            defaults = defaults.field_text(&format!("{part}.{name}"), text(name, value)?);
        }
    }
    Ok(defaults)
}

/// Sets a field from its flag, if that is given.
fn with_flag(defaults: Defaults, matches: &ArgMatches, field: &Field) -> Result<Defaults, Failure> {
    let (name, id) = (field.name, flag::field_id(field.name));
    if !matches.try_contains_id(&id).unwrap_or_default() {
        return Ok(defaults);
    }
    Ok(match &field.kind {
        FieldKind::Image { .. } => match matches.get_one::<OsString>(&id) {
            Some(image) => defaults.field_text(name, text(name, image)?),
            None => defaults,
        },
        FieldKind::List { items, .. } if matches!(items.kind, FieldKind::Image { .. }) => {
            let images = matches.get_many::<OsString>(&id).into_iter().flatten();
            let images = images.map(|image| Ok(Value::from(text(name, image)?)));
            defaults.field(name, images.collect::<Result<Value, Failure>>()?)
        }
        FieldKind::List { items, .. } => {
            let values = matches.get_many::<String>(&id).into_iter().flatten();
            defaults.field(name, values.map(|text| items.kind.value_of(text)).collect::<Value>())
        }
        _ => match matches.get_one::<String>(&id) {
            Some(text) => defaults.field_text(name, text),
            None => defaults,
        },
    })
}

/// A ledger stores paths as text.
fn text<'a>(name: &str, value: &'a OsStr) -> Result<&'a str, Failure> {
    value
        .to_str()
        .ok_or_else(|| Failure::usage(format!("the value of `{name}` is not valid Unicode")))
}
