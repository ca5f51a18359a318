//! Reads and rewrites parts of the command line before it can be parsed.

use std::ffi::{OsStr, OsString};

use crate::{
    commands::{HELP, VERSION, history, run, task::submit},
    models,
};
use imagekiln::{CompleteModel, FieldKind, complete_model};

/// The arguments before `--`; everything after it is positional.
fn flags(arguments: &[OsString]) -> &[OsString] {
    let end = arguments.iter().position(|argument| argument == "--");
    end.and_then(|end| arguments.get(..end)).unwrap_or(arguments)
}

/// Spells out what the parser can't read: names that contain a path parameter, booleans without
/// `=`, and commands that are flags.
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

/// The words that are not flags: the command and, for `run` and `submit`, the model.
pub fn words(arguments: &[OsString]) -> impl Iterator<Item = &str> {
    let words = flags(arguments).iter().skip(1).filter(|word| !is_flag(word));
    words.filter_map(|word| word.to_str())
}

/// The two spellings of `--model`.
const MODEL_FLAGS: [&str; 2] = ["--model", "-m"];

/// The value of `--model`, which decides the flags of the commands that have it.
pub fn model(arguments: &[OsString]) -> Option<&str> {
    value(arguments, is_model_flag)
}

/// The value of `--profile`, which decides the default model.
pub fn profile(arguments: &[OsString]) -> Option<&str> {
    value(arguments, |flag| flag == "--profile")
}

/// The value of the first flag that `is_wanted`.
fn value(arguments: &[OsString], is_wanted: impl Fn(&OsStr) -> bool) -> Option<&str> {
    let flags = flags(arguments);
    flags.iter().enumerate().find_map(|(at, argument)| match argument.to_str()?.split_once('=') {
        None if is_wanted(argument) => flags.get(at + 1)?.to_str(),
        Some((flag, value)) if is_wanted(OsStr::new(flag)) => Some(value),
        _ => None,
    })
}

/// Rewrites names such as `gen-2-klein-9b-kv-finetuned`: the model becomes
/// `{base_model}-finetuned`, and `--base-model` its parameter.
fn fill_models(arguments: Vec<OsString>) -> Vec<OsString> {
    // It lists submissions to a model by its complete name.
    if words(&arguments).next() == Some(history::NAME) {
        return arguments;
    }
    let flags = flags(&arguments);
    let end = flags.len();
    let named = flags.iter().position(|word| word == run::NAME || word == submit::NAME);
    let named = named.and_then(|command| {
        let mut rest = flags.iter().enumerate().skip(command + 1);
        rest.find(|(_, word)| !is_flag(word)).map(|(at, _)| at)
    });
    let mut filled = Vec::with_capacity(arguments.len() + 1);
    for (at, word) in arguments.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| flags.get(before));
        let is_value = at < end && before.is_some_and(|flag| is_model_flag(flag));
        let text = word.to_str().filter(|_| at < end).unwrap_or_default();
        let (head, name) = match text.split_once('=') {
            Some((flag, name)) if is_model_flag(OsStr::new(flag)) => (format!("{flag}="), name),
            _ if is_value || named == Some(at) => (String::new(), text),
            _ => (String::new(), ""),
        };
        match complete_model(name) {
            None => filled.push(word.clone()),
            Some(CompleteModel { model, parameter, value, .. }) => {
                filled.push(format!("{head}{}", model.name).into());
                filled.push(format!("--{}={value}", parameter.name.replace('_', "-")).into());
            }
        }
    }
    filled
}

fn is_flag(word: &OsStr) -> bool {
    word.as_encoded_bytes().starts_with(b"-")
}

fn is_model_flag(word: &OsStr) -> bool {
    MODEL_FLAGS.iter().any(|flag| word == *flag)
}

/// Whether `--json` is set. Parse errors are printed as JSON too.
pub fn json(arguments: &[OsString]) -> bool {
    flags(arguments).iter().any(|argument| argument == "--json")
}

/// Rewrites `--raw false` as `--raw=false` and leaves `--raw "a fox"` alone: a boolean flag
/// consumes the next argument only if it is `true` or `false`.
fn join_booleans(arguments: Vec<OsString>) -> Vec<OsString> {
    let end = flags(&arguments).len();
    let mut joined: Vec<OsString> = Vec::with_capacity(arguments.len());
    for (at, argument) in arguments.into_iter().enumerate() {
        match joined.last_mut() {
            Some(last)
                if at < end && (argument == "true" || argument == "false") && is_boolean(last) =>
            {
                last.push("=");
                last.push(argument);
            }
            _ => joined.push(argument),
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

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn the_model_is_read_from_its_flag() {
        assert_eq!(model(&words("kiln generate x --model gen-dev --seed 1")), Some("gen-dev"));
        assert_eq!(model(&words("kiln --json generate --model=gen-dev x")), Some("gen-dev"));
        assert_eq!(model(&words("kiln generate -- --model gen-dev")), None);
        assert_eq!(model(&words("kiln generate x --model")), None);
        assert_eq!(profile(&words("kiln --profile work generate x")), Some("work"));
        assert_eq!(profile(&words("kiln generate x -- --profile=work")), None);
    }

    #[test]
    fn a_complete_name_sets_the_path_parameter() {
        let filled = |text: &str| fill_models(words(text));
        for (given, expected) in [
            ("kiln run N --seed 1", "kiln run M P --seed 1"),
            ("kiln --json submit -q N", "kiln --json submit -q M P"),
            ("kiln generate fox --model N", "kiln generate fox --model M P"),
            ("kiln generate fox -m=/v1/N", "kiln generate fox -m=M P"),
            ("kiln run M --base-model N", "kiln run M --base-model N"),
            ("kiln generate N", "kiln generate N"),
            ("kiln history --model N", "kiln history --model N"),
            ("kiln generate -- -m N", "kiln generate -- -m N"),
        ] {
            let written = |text: &str| {
                words(
                    &text
                        .replace('N', "gen-2-klein-9b-kv-finetuned")
                        .replace('M', "{base_model}-finetuned")
                        .replace('P', "--base-model=gen-2-klein-9b-kv"),
                )
            };
            assert_eq!(
                filled(&written(given).join(OsStr::new(" ")).to_string_lossy()),
                written(expected)
            );
        }
        for name in ["gen-2-pro-finetuned", "gen-2-klein-4b", "gen-pro-finetuned"] {
            assert_eq!(filled(&format!("kiln run {name}")), words(&format!("kiln run {name}")));
        }
    }

    #[test]
    fn help_and_version_are_commands_too() {
        for (given, expected) in [
            ("kiln help", "kiln --help"),
            ("kiln help run gen-dev", "kiln run gen-dev --help"),
            ("kiln version", "kiln --version"),
            ("kiln generate help", "kiln generate help"),
        ] {
            assert_eq!(spell_help(words(given)), words(expected));
        }
    }

    #[test]
    fn a_boolean_consumes_only_true_or_false() {
        let joined = |text: &str| join_booleans(words(text));
        assert_eq!(joined("kiln generate --raw false fox"), words("kiln generate --raw=false fox"));
        assert_eq!(joined("kiln generate --raw fox"), words("kiln generate --raw fox"));
        assert_eq!(
            joined("kiln run m --prompt_upsampling true"),
            words("kiln run m --prompt_upsampling=true")
        );
        assert_eq!(joined("kiln run m --prompt true"), words("kiln run m --prompt true"));
        assert_eq!(joined("kiln run m -- --raw true"), words("kiln run m -- --raw true"));
    }
}
