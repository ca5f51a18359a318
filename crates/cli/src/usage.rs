//! Parses the command line and reports its errors. The grammar depends on the model, so some words
//! are read before the command line is parsed, and some are rewritten because the parser cannot
//! read them.

use std::ffi::{OsStr, OsString};

use clap::{
    ArgMatches, Command,
    builder::StyledStr,
    error::{ContextKind, ContextValue, ErrorKind},
};

use crate::{
    args::options,
    commands::{
        HELP, VERSION, again, edit, generate, grammar, history, run,
        task::{self, submit},
        tools,
    },
    failure::Failure,
    models,
    terminal::ERROR,
    text::{fitting, one_line},
    words,
};
use imagekiln::{CompleteModel, FieldKind, Operation, complete_model};

/// Why the program executes no command.
pub enum Stop {
    /// Help or the version was requested.
    Help(StyledStr),
    /// The command line is invalid.
    Wrong(StyledStr),
}

/// Parses in two steps, because the flags depend on the model: finds the model, then parses with
/// the grammar for it. `configured` is the model of commands without `--model`, and `made_with`
/// finds the model of the picture that `kiln again` makes again.
pub fn parse(
    arguments: &[OsString],
    configured: Option<&'static Operation>,
    made_with: impl FnOnce(&str) -> Option<&'static Operation>,
) -> Result<ArgMatches, Stop> {
    if let Some(name) = named_model(arguments).filter(|name| models::find(name).is_none()) {
        // Without a model there are no flags to check, so only the name is reported.
        return Err(Stop::Wrong(unknown_model(name)));
    }
    let model = model(arguments, configured);
    let (grammar, again_with) = grammar_of(arguments, model, made_with);
    let mut grammar = fitting(grammar);
    let matches = grammar.try_get_matches_from_mut(arguments).map_err(|error| {
        let mut words = command_words(arguments).map(|(_, word)| word);
        let command = words.next().unwrap_or_default();
        let first = self::words(arguments).next().map(|(_, word)| word).unwrap_or_default();
        let has_models = command == run::NAME || (first, command) == (task::NAME, submit::NAME);
        match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Stop::Help(error.render()),
            ErrorKind::InvalidSubcommand if has_models => {
                let name = text(&error, ContextKind::InvalidSubcommand);
                Stop::Wrong(unknown_model(&name))
            }
            ErrorKind::InvalidSubcommand => {
                Stop::Wrong(with_tip_on_command(error, &grammar, first).render())
            }
            ErrorKind::UnknownArgument => {
                let model = match tools::find(command) {
                    _ if has_models => words.next().and_then(models::find),
                    _ if command == again::NAME => again_with,
                    Some(tool) => Some(tool.model(model)),
                    None => Some(model).filter(|_| takes_prompts(command)),
                };
                Stop::Wrong(with_tips_on_argument(error, command, model).render())
            }
            _ => Stop::Wrong(error.render()),
        }
    })?;
    options::refuse_unused(&grammar, &matches).map_err(|error| Stop::Wrong(error.render()))?;
    Ok(matches)
}

/// Returns the grammar for a command line and, for `kiln again`, the model whose fields are its
/// flags.
pub fn grammar_of(
    arguments: &[OsString],
    model: &'static Operation,
    made_with: impl FnOnce(&str) -> Option<&'static Operation>,
) -> (Command, Option<&'static Operation>) {
    let used = |word: &str| arguments.iter().any(|given| given == word);
    let grammar = grammar(model, &used);
    let Some(made_with) = picture(arguments).and_then(made_with) else { return (grammar, None) };
    let model = named_model(arguments).and_then(models::find).unwrap_or(made_with);
    let again = again::command(Some((made_with, model)));
    (grammar.mut_subcommand(again::NAME, |_| again), Some(model))
}

/// Returns the model whose fields are the flags: the one that `--model` names, or else
/// `configured`, or else the default.
pub fn model(arguments: &[OsString], configured: Option<&'static Operation>) -> &'static Operation {
    let named = named_model(arguments).and_then(models::find);
    named.or(configured).unwrap_or_else(models::default)
}

/// Returns the model that `--model` names. `kiln batch run` accepts several; its flags are the
/// fields of the first one.
fn named_model(arguments: &[OsString]) -> Option<&str> {
    value(arguments, &MODEL_FLAGS)?.1.split(',').next()
}

/// Returns the words that are not flags, without a leading `tool` or `task`: the flags of a model
/// belong to the subcommands of these two.
fn command_words(arguments: &[OsString]) -> impl Iterator<Item = (usize, &str)> {
    let mut words = words(arguments).peekable();
    words.next_if(|(_, word)| [tools::NAME, task::NAME].contains(word));
    words
}

/// Returns the picture of `kiln again`: the first word that begins with `@`, which can only be a
/// picture, or else the first word.
fn picture(arguments: &[OsString]) -> Option<&str> {
    let words = words(arguments).map(|(_, word)| word);
    let words: Vec<&str> = words.skip_while(|word| *word != again::NAME).skip(1).collect();
    words.iter().find(|word| word.starts_with('@')).or(words.first()).copied()
}

/// Whether this is a command that takes a prompt and accepts any model.
fn takes_prompts(command: &str) -> bool {
    [generate::NAME, edit::NAME].contains(&command)
}

/// Returns the message about an unknown model, with tips.
fn unknown_model(name: &str) -> StyledStr {
    let (message, tips) = models::unknown(name);
    let tips: String = tips.iter().map(|tip| format!("\n  tip: {tip}")).collect();
    format!("{ERROR}error:{ERROR:#} {message}\n{tips}").into()
}

/// Adds a tip to the error about an unknown command. It may be a prompt or a model without its
/// command, or a word from another program. `command` is the first word of the command line: the
/// unknown command itself, or a command with subcommands.
fn with_tip_on_command(mut error: clap::Error, program: &Command, command: &str) -> clap::Error {
    let word = text(&error, ContextKind::InvalidSubcommand);
    if let Some(model) = models::find(&word) {
        with_tips(error, vec![format!("to run a model, use 'kiln run {model}'")])
    } else if let Some(tip) = words::tip(program, command, &word) {
        // The parser's own suggestion is a command with a similar spelling, which the tip replaces.
        error.remove(ContextKind::SuggestedSubcommand);
        with_tips(error, vec![tip])
    } else {
        error
    }
}

/// Adds tips to the error about an unknown argument: which models have such a field, and how to
/// send it anyway. `model` is the model whose fields are the flags of the command.
fn with_tips_on_argument(
    error: clap::Error,
    command: &str,
    model: Option<&'static Operation>,
) -> clap::Error {
    let argument = text(&error, ContextKind::InvalidArg);
    let is_similar = error.get(ContextKind::SuggestedArg).is_some();
    let tips = match argument.strip_prefix("--") {
        Some(flag) => model.map(|model| on_flag(flag, model, is_similar)).unwrap_or_default(),
        None if argument.starts_with('-') => Vec::new(),
        None if takes_prompts(command) => {
            vec!["a prompt of several words needs quotes: \"a red fox\"".to_owned()]
        }
        None => tools::find(command).map(|tool| tool.takes()).into_iter().collect(),
    };
    // These tips replace the parser's own, which suggests passing the flag as a prompt.
    with_tips(error, tips)
}

/// Returns the tips about an unknown flag. `is_similar` says that the parser suggests a similar
/// flag.
fn on_flag(flag: &str, model: &'static Operation, is_similar: bool) -> Vec<String> {
    let flag = one_line(flag.split('=').next().unwrap_or_default());
    let field = flag.replace('-', "_");
    let others = models::models().filter(|model| model.field(&field).is_some());
    let others: Vec<&str> = others.map(|model| model.name).collect();
    let mut tips = Vec::new();
    if !others.is_empty() {
        tips.push(format!("`{field}` is a field of {}", others.join(", ")));
    }
    if !model.all_fields_shown {
        tips.push(format!(
            "the contract does not list all fields of {model}: to send this one, use '--extra \
             {field}=VALUE'"
        ));
    } else if others.is_empty() && !is_similar {
        tips.push(format!("'kiln run {model} --help' lists the fields of {model}"));
    }
    tips
}

fn with_tips(mut error: clap::Error, tips: Vec<String>) -> clap::Error {
    let tips = tips.into_iter().map(Into::into).collect();
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    error
}

fn text(error: &clap::Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join(" "),
        _ => String::new(),
    }
}

/// Converts a message of the parser to a failure for programs. The message is the first paragraph,
/// and the tips are the advice.
pub fn failure(text: &str) -> Failure {
    let text = text.trim().trim_start_matches("error: ");
    let (message, rest) = text.split_once("\n\n").unwrap_or((text, ""));
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let tips: Vec<&str> =
        rest.lines().filter_map(|line| line.trim().strip_prefix("tip: ")).collect();
    Failure::usage(message).advise(if tips.is_empty() {
        "`kiln --help` shows the commands and their options".to_owned()
    } else {
        tips.join("; ")
    })
}

/// The two spellings of `--model`, whose value decides which other flags there are.
const MODEL_FLAGS: [&str; 2] = ["--model", "-m"];

/// Returns the value of `--profile` or `--preset`. These are read before parsing, because a profile
/// and a preset can set the model.
pub fn named<'a>(arguments: &'a [OsString], flag: &str) -> Option<&'a str> {
    value(arguments, &[flag]).map(|(_, name)| name)
}

/// Whether `--json` is set. It is read before parsing, so that errors of the parser are JSON, too.
pub fn json(arguments: &[OsString]) -> bool {
    before_end(arguments).iter().any(|argument| argument == "--json")
}

/// Returns the arguments before `--`. Arguments after it are positional.
fn before_end(arguments: &[OsString]) -> &[OsString] {
    arguments.split(|argument| argument == "--").next().unwrap_or_default()
}

/// Returns the words before `--` that are not flags, with their positions. They include values of
/// flags, because it is not known yet which flags have one.
fn words(arguments: &[OsString]) -> impl Iterator<Item = (usize, &str)> {
    let words = before_end(arguments).iter().enumerate().skip(1);
    words.filter(|(_, word)| !is_flag(word)).filter_map(|(at, word)| Some((at, word.to_str()?)))
}

/// Returns the value of the first argument that is one of these flags, and its position.
pub fn value<'a>(arguments: &'a [OsString], names: &[&str]) -> Option<(usize, &'a str)> {
    let flags = before_end(arguments);
    flags.iter().enumerate().find_map(|(at, argument)| {
        let argument = argument.to_str()?;
        match argument.split_once('=') {
            None if names.contains(&argument) => Some((at + 1, flags.get(at + 1)?.to_str()?)),
            Some((flag, value)) if names.contains(&flag) => Some((at, value)),
            _ => None,
        }
    })
}

fn is_flag(word: &OsStr) -> bool {
    word.as_encoded_bytes().starts_with(b"-")
}

/// Rewrites what the parser can't read: names of models that contain the value of a path parameter,
/// booleans without `=`, and commands that stand for flags.
pub fn rewrite(arguments: Vec<OsString>) -> Vec<OsString> {
    spell_help(fill_models(join_booleans(arguments)))
}

/// Rewrites `kiln help edit` as `kiln edit --help`, and `kiln version` as `kiln --version`.
fn spell_help(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let command = arguments.iter().skip(1).position(|word| !is_flag(word)).map(|at| at + 1);
    let found = command.and_then(|at| Some((at, arguments.get_mut(at)?)));
    let Some((at, word)) = found else { return arguments };
    match word.to_str() {
        Some(HELP) => {
            arguments.remove(at);
            arguments.push("--help".into());
        }
        Some(VERSION) => *word = "--version".into(),
        _ => {}
    }
    arguments
}

/// Rewrites a complete name of a model, such as `gen-2-klein-9b-kv-finetuned`, as the name of the
/// model and its path parameter: `{base_model}-finetuned --base-model=gen-2-klein-9b-kv`.
fn fill_models(mut arguments: Vec<OsString>) -> Vec<OsString> {
    // `kiln history` looks for the complete name, which submissions have.
    if words(&arguments).next().is_some_and(|(_, word)| word == history::NAME) {
        return arguments;
    }
    let of_command = || {
        let takes_model = |word: &str| [run::NAME, submit::NAME].contains(&word);
        words(&arguments).skip_while(|(_, word)| !takes_model(word)).nth(1)
    };
    let named = value(&arguments, &MODEL_FLAGS).or_else(of_command);
    let complete = named.and_then(|(at, name)| Some((at, name, complete_model(name)?)));
    let Some((at, name, CompleteModel { model, parameter, value, .. })) = complete else {
        return arguments;
    };
    let flag = format!("--{}={value}", parameter.name.replace('_', "-"));
    let word = arguments.get(at).map(|word| word.to_string_lossy().replace(name, model.name));
    arguments.splice(at..=at, word.into_iter().chain([flag]).map(OsString::from));
    arguments
}

/// Rewrites `--raw false` as `--raw=false`, and leaves `--raw "a fox"` as it is: the next argument
/// is the value of a boolean flag only if it is `true` or `false`.
fn join_booleans(arguments: Vec<OsString>) -> Vec<OsString> {
    let end = before_end(&arguments).len();
    let mut joined: Vec<OsString> = Vec::with_capacity(arguments.len());
    for (at, argument) in arguments.into_iter().enumerate() {
        let is_value = at < end && (argument == "true" || argument == "false");
        match joined.last_mut().filter(|last| is_value && is_boolean(last)) {
            Some(last) => {
                last.push("=");
                last.push(argument);
            }
            None => joined.push(argument),
        }
    }
    joined
}

fn is_boolean(flag: &OsStr) -> bool {
    let Some(name) = flag.to_str().and_then(|flag| flag.strip_prefix("--")) else { return false };
    let name = name.strip_prefix("field-").unwrap_or(name).replace('-', "_");
    models::models()
        .flat_map(|model| model.fields)
        .any(|field| field.kind == FieldKind::Boolean && field.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_of_a_model_is_filled_in() {
        let words = |text: &str| -> Vec<OsString> {
            let text = text
                .replace('N', "gen-2-klein-9b-kv-finetuned")
                .replace('M', "{base_model}-finetuned")
                .replace('P', "--base-model=gen-2-klein-9b-kv");
            text.split(' ').map(OsString::from).collect()
        };
        for (given, expected) in [
            ("kiln run N --seed 1", "kiln run M P --seed 1"),
            ("kiln --json submit -q N", "kiln --json submit -q M P"),
            ("kiln generate fox --model N", "kiln generate fox --model M P"),
            ("kiln generate fox -m=/v1/N", "kiln generate fox -m=M P"),
            ("kiln run M --base-model N", "kiln run M --base-model N"),
            ("kiln generate N", "kiln generate N"),
            ("kiln history --model N", "kiln history --model N"),
            ("kiln generate -- -m N", "kiln generate -- -m N"),
            ("kiln run gen-2-pro-finetuned", "kiln run gen-2-pro-finetuned"),
        ] {
            assert_eq!(rewrite(words(given)), words(expected));
        }
    }
}
