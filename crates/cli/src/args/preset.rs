//! `--preset` and `--part`: fields and a prompt that the user has stored under a name.

use clap::{ArgMatches, Args, FromArgMatches as _};

use super::{
    completers,
    inputs::Inputs,
    options::{self, SIZES},
};
use crate::{
    failure::Failure,
    settings::{Settings, presets::Preset},
    text::one_line,
};
use imagekiln::Request;

pub const PRESET: &str = "preset";

#[derive(Debug, Clone, Args)]
pub struct PresetOptions {
    /// Use the model, the fields and the prompt of a preset, which flags precede; see `kiln preset`
    #[arg(long, value_name = "NAME", hide_short_help = true, add = completers::presets())]
    preset: Option<String>,
    /// A part of the prompt of the preset
    #[arg(long, value_name = "NAME=TEXT", hide_short_help = true, requires = PRESET)]
    #[arg(value_parser = part)]
    part: Vec<(String, String)>,
}

fn part(text: &str) -> Result<(String, String), String> {
    let (name, text) = text.split_once('=').ok_or("give NAME=TEXT, such as colors=red")?;
    Ok((name.to_owned(), text.to_owned()))
}

fn chosen<'s>(
    settings: &'s Settings,
    matches: &ArgMatches,
) -> Result<Option<(&'s Preset, PresetOptions)>, Failure> {
    if matches.try_contains_id(PRESET).is_err() {
        return Ok(None);
    }
    let options = PresetOptions::from_arg_matches(matches)?;
    let Some(name) = &options.preset else { return Ok(None) };
    Ok(Some((settings.preset(name)?, options)))
}

/// Fills each prompt of a command into the prompt of its preset. Without prompts, the prompt of the
/// preset is complete in itself.
pub fn prompts(
    settings: &Settings,
    matches: &ArgMatches,
    given: Vec<String>,
) -> Result<Vec<String>, Failure> {
    let Some((preset, options)) = chosen(settings, matches)? else { return Ok(given) };
    let parts: Vec<(&str, &str)> =
        options.part.iter().map(|(name, text)| (&**name, &**text)).collect();
    if given.is_empty() {
        return Ok(vec![preset.fill(None, &parts)?]);
    }
    given.iter().map(|prompt| preset.fill(Some(prompt), &parts)).collect()
}

/// Sets the fields of the preset, except those that flags have set.
pub fn with_fields(
    inputs: &Inputs<'_>,
    matches: &ArgMatches,
    request: Request,
) -> Result<Request, Failure> {
    let Some((preset, _)) = chosen(inputs.settings, matches)? else { return Ok(request) };
    let model = request.operation();
    let has_size = SIZES.iter().any(|name| request.has_field(name));
    let is_set = |name: &str| request.has_field(name) || has_size && SIZES.contains(&name);
    let fields = preset.fields.iter().filter(|(name, _)| !is_set(name));
    let (known, unknown): (Vec<_>, Vec<_>) =
        fields.partition(|(name, _)| options::may_have(model, &[name]));
    if !unknown.is_empty() {
        let names: Vec<_> = unknown.iter().map(|(name, _)| one_line(name)).collect();
        let names = names.join(", ");
        inputs.output.note(&format!("{model} has no such fields, so they are left out: {names}"));
    }
    let set = |request: Request, (name, value): &(String, serde_json::Value)| {
        request.field(name, value.clone())
    };
    Ok(known.into_iter().fold(request, set))
}
