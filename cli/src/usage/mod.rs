//! Parses the command line and reports its errors.

pub mod arguments;
mod hints;

use std::ffi::OsString;

use clap::{
    ArgMatches,
    builder::StyledStr,
    error::{ContextKind, ContextValue, ErrorKind},
};

use crate::{
    args::options,
    commands::{
        again, grammar, run,
        task::{self, submit},
        tools,
    },
    failure::Failure,
    models,
    terminal::paint::ERROR,
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
/// of commands without `--model`, and `made_with` finds the model of the picture that `kiln again`
/// makes again.
pub fn parse(
    arguments: &[OsString],
    configured: Option<&'static Operation>,
    made_with: impl FnOnce(&str) -> Option<&'static Operation>,
) -> Result<ArgMatches, Stop> {
    let default = || Stop::Wrong(unknown_model(models::DEFAULT));
    let model = model(arguments, configured).ok_or_else(default)?;
    if let Some(name) = named_model(arguments).filter(|name| models::find(name).is_none()) {
        // Without the model its flags are unknown, so report only the name.
        return Err(Stop::Wrong(unknown_model(name)));
    }
    let used = |word: &str| arguments.iter().any(|given| given == word);
    let mut grammar = grammar(model, &used);
    let made_with = picture(arguments).and_then(made_with);
    if let Some(model) = made_with {
        grammar = grammar.mut_subcommand(again::NAME, |_| again::command(Some(model)));
    }
    let matches = grammar.try_get_matches_from_mut(arguments);
    let matches = matches.map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Stop::Help(error.render()),
        ErrorKind::InvalidSubcommand if named_command(arguments).is_some_and(has_models) => {
            let name = texts(&error, ContextKind::InvalidSubcommand).join(" ");
            Stop::Wrong(unknown_model(&name))
        }
        ErrorKind::InvalidSubcommand => Stop::Wrong(hints::on_command(error).render()),
        ErrorKind::UnknownArgument => {
            let command = named_command(arguments).unwrap_or_default();
            let model = match (has_models(command), tools::find(command)) {
                (true, _) => command_words(arguments).nth(1).and_then(models::find),
                (_, Some(tool)) => Some(tool.model(model)),
                _ if command == again::NAME => made_with,
                _ => Some(model).filter(|_| hints::COMMANDS.contains(&command)),
            };
            Stop::Wrong(hints::on_argument(error, command, model).render())
        }
        _ => Stop::Wrong(error.render()),
    })?;
    options::refuse_unused(&grammar, &matches).map_err(|error| Stop::Wrong(error.render()))?;
    Ok(matches)
}

/// The model whose fields are the flags: the one that `--model` names, or `configured`, or the
/// default.
pub fn model(
    arguments: &[OsString],
    configured: Option<&'static Operation>,
) -> Option<&'static Operation> {
    let named = named_model(arguments).and_then(models::find);
    named.or(configured).or_else(|| models::find(models::DEFAULT))
}

/// `kiln batch` accepts several models; its flags are the fields of the first one.
fn named_model(arguments: &[OsString]) -> Option<&str> {
    arguments::model(arguments)?.split(',').next()
}

/// The words that are not flags, without the name of the command whose subcommands may also stand
/// alone: `kiln inpaint` is `kiln tool inpaint`.
fn command_words(arguments: &[OsString]) -> impl Iterator<Item = &str> {
    let mut words = arguments::words(arguments).peekable();
    words.next_if(|word| [tools::NAME, task::NAME].contains(word));
    words
}

/// The picture of `kiln again`: its first argument, or the first one that can only be a number.
fn picture(arguments: &[OsString]) -> Option<&str> {
    let words: Vec<&str> = arguments::words(arguments).collect();
    let command = words.iter().position(|word| *word == again::NAME)?;
    let words = words.get(command + 1..)?;
    words.iter().find(|word| word.starts_with('@')).or(words.first()).copied()
}

fn named_command(arguments: &[OsString]) -> Option<&str> {
    command_words(arguments).next()
}

/// Whether the subcommands of the command are models.
fn has_models(command: &str) -> bool {
    command == run::NAME || command == submit::NAME
}

/// The message about an unknown model, with tips.
fn unknown_model(name: &str) -> StyledStr {
    let (message, tips) = models::unknown(name);
    let tips: String = tips.iter().map(|tip| format!("\n  tip: {tip}")).collect();
    format!("{ERROR}error:{ERROR:#} {message}\n{tips}").into()
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
