//! `--output`, `--overwrite`, `--mkdir` and `--describe`: where to save the picture, and whether to
//! write a description beside it.

use std::ffi::OsString;

use clap::{ArgMatches, Args, FromArgMatches as _, ValueHint};

use super::request;
use crate::{
    failure::Failure,
    files::target::{Place, Target},
    output::Output,
    settings::Settings,
};
use imagekiln::{FieldKind, Request};

pub const OUTPUT: &str = "output";

#[derive(Debug, Clone, Args)]
pub struct Saving {
    /// The file or directory; `-` is standard output
    #[arg(
        long,
        short,
        value_name = "FILE",
        value_hint = ValueHint::AnyPath,
        long_help = "Where to save the picture: a file, whose ending selects the format, a name \
                     with fields such as 'fox-{seed}.{ext}', a directory, or `-` for standard \
                     output [default: PROMPT-TASK.EXTENSION]"
    )]
    output: Option<OsString>,
    /// Replace an existing file [default: save as FILE-2 or FILE-3]
    #[arg(long, hide_short_help = true)]
    overwrite: bool,
    /// Create the directories of FILE that do not exist
    #[arg(long, hide_short_help = true)]
    mkdir: bool,
    /// Write FILE.json beside the picture: its request, seed, cost and times
    #[arg(long, hide_short_help = true)]
    describe: bool,
}

/// The target that `--output` or else the settings name.
pub fn target(settings: &Settings, matches: &ArgMatches) -> Result<Target, Failure> {
    let Saving { output, overwrite, mkdir, describe } = Saving::from_arg_matches(matches)?;
    let place = Place::of(output.or_else(|| settings.output()).as_deref())?;
    if describe && matches!(place, Place::Stdout | Place::Special(_)) {
        return Err(Failure::usage("--describe needs a file, which the description is beside")
            .advise("pass a file or a directory to --output"));
    }
    let describe = describe || settings.describe();
    Ok(Target { place, overwrite, mkdir, describe, title: None })
}

/// The field for the format of the picture.
pub const FORMAT: &str = "output_format";

/// Sets the format by the ending of the file, if no flag sets it and the model offers that format.
/// Refuses endings of formats that no model produces.
pub fn with_format(
    output: &Output,
    request: Request,
    matches: &ArgMatches,
    target: &Target,
) -> Result<Request, Failure> {
    let given = request::text(matches, FORMAT);
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
    Ok(with_ending(request, target))
}

/// Sets the format by the ending of the file, if the model offers that format.
pub fn with_ending(request: Request, target: &Target) -> Request {
    let Some(wanted) = target.wanted_format() else { return request };
    let offered = request.operation().field(FORMAT).is_some_and(|field| match field.kind {
        FieldKind::Choice { values, .. } => values.contains(&wanted.as_str()),
        _ => false,
    });
    if !offered {
        return request;
    }
    // Replace the format that a preset may have set.
    let format = Request::new(request.operation()).field(FORMAT, wanted.as_str());
    request.changed_by(format)
}
