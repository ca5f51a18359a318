//! `--output`, `--overwrite`, `--mkdir` and `--describe`: where the picture is saved, and whether
//! it is described there.

use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, ValueHint, value_parser};

use super::request;
use crate::{
    failure::Failure,
    files::target::{Place, Target},
    output::Output,
    settings::Settings,
};
use imagekiln::{FieldKind, Request};

pub const OUTPUT: &str = "output";
const OVERWRITE: &str = "overwrite";
const MKDIR: &str = "mkdir";
const DESCRIBE: &str = "describe";

/// The options that decide where the picture is saved.
pub fn args() -> [Arg; 4] {
    let flag = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    [
        file_arg(),
        flag(OVERWRITE).help("Replace an existing file [default: save as FILE-2 or FILE-3]"),
        flag(MKDIR).hide_short_help(true).help("Create the directories of FILE that do not exist"),
        flag(DESCRIBE)
            .hide_short_help(true)
            .help("Write FILE.json beside the picture: its request, seed, cost and times"),
    ]
}

fn file_arg() -> Arg {
    Arg::new(OUTPUT)
        .long(OUTPUT)
        .short('o')
        .value_name("FILE")
        .value_parser(value_parser!(OsString))
        .value_hint(ValueHint::AnyPath)
        .help("Where to save the picture: a file, a directory, or `-` for standard output")
        .long_help(
            "Where to save the picture: a file, whose ending selects the format, a name with \
             fields such as 'fox-{seed}.{ext}', a directory, or `-` for standard output [default: \
             MODEL-TASK.EXTENSION]",
        )
}

/// The target that `--output` names, or else the settings.
pub fn target(settings: &Settings, matches: &ArgMatches) -> Result<Target, Failure> {
    let output = matches.get_one::<OsString>(OUTPUT).cloned();
    let output = output.or_else(|| settings.output());
    let [overwrite, mkdir, describe] = flags(matches);
    let place = Place::of(output.as_deref())?;
    if describe && matches!(place, Place::Stdout | Place::Special(_)) {
        return Err(Failure::usage("--describe needs a file, which the description is beside")
            .advise("pass a file or a directory to --output"));
    }
    Ok(Target { place, overwrite, mkdir, describe: describe || settings.describe() })
}

/// Whether `--overwrite`, `--mkdir` and `--describe` are given.
pub fn flags(matches: &ArgMatches) -> [bool; 3] {
    [OVERWRITE, MKDIR, DESCRIBE].map(|name| flag(matches, name))
}

/// Whether a flag is given to a command that has it.
fn flag(matches: &ArgMatches, name: &str) -> bool {
    matches.try_get_one::<bool>(name).ok().flatten().copied().unwrap_or_default()
}

/// If no format was given, sets it from the file extension, if the model has such a field and
/// accepts the value. Refuses extensions that no model can produce.
pub fn with_format(
    output: &Output,
    request: Request,
    matches: &ArgMatches,
    target: &Target,
) -> Result<Request, Failure> {
    const FIELD: &str = "output_format";
    let given = request::text(matches, FIELD);
    if given.is_none() {
        target.check_ending()?;
    }
    let Some(wanted) = target.wanted_format() else { return Ok(request) };
    if let Some(given) = given {
        if given != wanted.as_str() {
            output.warning(&format!(
                "the file extension asks for {wanted}, but --output-format for {given}"
            ));
        }
        return Ok(request);
    }
    let offered = request.operation().field(FIELD).is_some_and(|field| match field.kind {
        FieldKind::Choice { values, .. } => values.contains(&wanted.as_str()),
        _ => false,
    });
    Ok(if offered { request.field(FIELD, wanted.as_str()) } else { request })
}
