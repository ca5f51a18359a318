//! Parses the command line and reports its errors.

mod hints;

use std::ffi::OsString;

use clap::{
    ArgMatches,
    builder::StyledStr,
    error::{ContextKind, ContextValue, ErrorKind},
};

use crate::{
    args::{before, grammar, model},
    commands::{by_task, generate::DEFAULT_MODEL, run, submit},
    failure::Failure,
    paint::ERROR,
};
use imagekiln::Operation;

/// Why no command is executed.
pub enum Stop {
    /// Help or the version was requested.
    Help(StyledStr),
    /// The command line is invalid.
    Wrong(StyledStr),
}

/// Parses in two steps, because the model decides which flags there are. `configured` is the model
/// of commands without `--model`.
pub fn parse(
    arguments: &[OsString],
    configured: Option<&'static Operation>,
) -> Result<ArgMatches, Stop> {
    let default = || Stop::Wrong(unknown(DEFAULT_MODEL));
    let model = model(arguments, configured).ok_or_else(default)?;
    if let Some(name) = named_model(arguments).filter(|name| model::find(name).is_none()) {
        // Without the model its flags are unknown, so report only the name.
        return Err(Stop::Wrong(unknown_model(name)));
    }
    let used = |model: &Operation| {
        let names = [model.name, model.id, model.path];
        arguments.iter().any(|word| names.iter().any(|name| word == name))
    };
    grammar(model, &used).try_get_matches_from(arguments).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Stop::Help(error.render()),
        ErrorKind::InvalidSubcommand if named_command(arguments).is_some_and(has_models) => {
            let name = texts(&error, ContextKind::InvalidSubcommand).join(" ");
            Stop::Wrong(unknown_model(&name))
        }
        ErrorKind::InvalidSubcommand => Stop::Wrong(hints::on_command(error).render()),
        ErrorKind::UnknownArgument => {
            let command = named_command(arguments).unwrap_or_default();
            let model = match (has_models(command), by_task::find(command)) {
                (true, _) => before::words(arguments).nth(1).and_then(model::find),
                (_, Some(task)) => Some(task.model(model)),
                _ => Some(model).filter(|_| hints::COMMANDS.contains(&command)),
            };
            Stop::Wrong(hints::on_argument(error, command, model).render())
        }
        _ => Stop::Wrong(error.render()),
    })
}

/// The model whose fields are the flags: the one that `--model` names, or `configured`, or the
/// default.
pub fn model(
    arguments: &[OsString],
    configured: Option<&'static Operation>,
) -> Option<&'static Operation> {
    let named = named_model(arguments).and_then(model::find);
    named.or(configured).or_else(|| model::find(DEFAULT_MODEL))
}

/// `kiln batch` accepts several models; its flags are the fields of the first one.
fn named_model(arguments: &[OsString]) -> Option<&str> {
    before::model(arguments)?.split(',').next()
}

/// The first word that is not a flag.
fn named_command(arguments: &[OsString]) -> Option<&str> {
    before::words(arguments).next()
}

/// Whether the subcommands of the command are models.
fn has_models(command: &str) -> bool {
    command == run::NAME || command == submit::NAME
}

/// The message for an unknown model, with the similar names that clap finds among the models of
/// `run`.
pub fn unknown_model(name: &str) -> StyledStr {
    let default = model::find(DEFAULT_MODEL);
    let parsed =
        default.map(|it| grammar(it, &|_| false).try_get_matches_from(["kiln", run::NAME, name]));
    let suggested = parsed
        .and_then(Result::err)
        .map(|error| texts(&error, ContextKind::SuggestedSubcommand))
        .unwrap_or_default();
    // clap puts the best match last. Paths and ids are other names of the same models.
    let names =
        suggested.iter().rev().filter(|name| model::models().any(|model| model.name == **name));
    let similar: Vec<String> = names.take(3).map(|name| format!("'{name}'")).collect();
    let tip = if similar.is_empty() {
        String::new()
    } else {
        format!("  tip: similar models are {}\n", similar.join(", "))
    };
    let example = model::models().find_map(model::example_name).unwrap_or_default();
    let finetuned = if name.contains("finetune") {
        format!("  tip: a fine-tuned base model is written like '{example}'\n")
    } else {
        String::new()
    };
    let tips = format!("\n\n{tip}{finetuned}  tip: `kiln models` lists all models");
    let mut text = unknown(name);
    text.push_str(&tips);
    text
}

fn unknown(name: &str) -> StyledStr {
    format!("{ERROR}error:{ERROR:#} unknown model '{name}'").into()
}

pub fn texts(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

/// Converts a message of the parser to a failure, for programs: its first paragraph and its tips.
pub fn failure(text: &str) -> Failure {
    let text = text.trim().trim_start_matches("error: ");
    let (message, rest) = text.split_once("\n\n").unwrap_or((text, ""));
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let tips: Vec<&str> =
        rest.lines().filter_map(|line| line.trim().strip_prefix("tip: ")).collect();
    let tips = if tips.is_empty() {
        "`kiln --help` shows the commands and their options".to_owned()
    } else {
        tips.join("; ")
    };
    Failure::usage(message).advise(tips)
}
