//! Parsing, and what is said where it does not work out.

use std::ffi::OsString;

use clap::{
    ArgMatches,
    error::{ContextKind, ContextValue, ErrorKind},
};

use crate::{
    args::{before, grammar, model},
    commands::{generate::DEFAULT_MODEL, run, submit},
    failure::Failure,
};

/// Why there is nothing to execute.
pub enum Stop {
    /// Help, or the version, was asked for.
    Help(String),
    /// The command line makes no sense.
    Wrong(String),
}

/// Parses in two steps: which model it is about decides which flags there are.
pub fn parse(arguments: &[OsString]) -> Result<ArgMatches, Stop> {
    let named = before::model(arguments);
    let default = || Stop::Wrong(format!("error: there is no model '{DEFAULT_MODEL}'"));
    let model =
        named.and_then(model::find).or_else(|| model::find(DEFAULT_MODEL)).ok_or_else(default)?;
    if let Some(name) = named.filter(|name| model::find(name).is_none()) {
        // The flags are those of a model that there is not, so the fault is the name, whatever else
        // is there.
        return Err(Stop::Wrong(unknown_model(name, model)));
    }
    grammar(model).try_get_matches_from(arguments).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Stop::Help(error.to_string()),
        ErrorKind::InvalidSubcommand if names_a_model(arguments) => {
            let name = texts(&error, ContextKind::InvalidSubcommand).join(" ");
            Stop::Wrong(unknown_model(&name, model))
        }
        ErrorKind::UnknownArgument => Stop::Wrong(with_models_of_the_field(error).to_string()),
        _ => Stop::Wrong(error.to_string()),
    })
}

/// Where an unknown flag is a field of other models, says so.
fn with_models_of_the_field(mut error: clap::Error) -> clap::Error {
    let flag = texts(&error, ContextKind::InvalidArg).join(" ");
    let field =
        flag.trim_start_matches('-').split('=').next().unwrap_or_default().replace('-', "_");
    let models = model::models().filter(|model| model.field(&field).is_some());
    let models: Vec<&str> = models.map(|model| model.name).collect();
    if !models.is_empty() {
        // In the place of the parser's own tip, to pass the flag as a prompt.
        let tip = format!("`{field}` is a field of {}", models.join(", "));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// The subcommands of these commands are the models.
fn names_a_model(arguments: &[OsString]) -> bool {
    let mut words =
        arguments.iter().skip(1).filter(|argument| !argument.as_encoded_bytes().starts_with(b"-"));
    words.next().is_some_and(|command| command == run::NAME || command == submit::NAME)
}

/// Says that there is no such model, with the similar names that clap finds among the models of
/// `run`.
fn unknown_model(name: &str, default: &'static imagekiln::Operation) -> String {
    let parsed = grammar(default).try_get_matches_from(["kiln", run::NAME, name]);
    let suggested = parsed
        .err()
        .map(|error| texts(&error, ContextKind::SuggestedSubcommand))
        .unwrap_or_default();
    // The best comes last; paths and ids name the same models once more.
    let names =
        suggested.iter().rev().filter(|name| model::models().any(|model| model.name == **name));
    let similar: Vec<String> = names.take(3).map(|name| format!("'{name}'")).collect();
    let tip = match similar.is_empty() {
        true => String::new(),
        false => format!("  tip: similar models are {}\n", similar.join(", ")),
    };
    format!("error: there is no model '{name}'\n\n{tip}  tip: `kiln models` lists all")
}

fn texts(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

/// A message of the parser's as a failure, for programs: its first paragraph, and its tips.
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
