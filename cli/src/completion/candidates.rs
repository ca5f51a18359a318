//! The candidates that may follow the words of a command line, for all shells.

use std::{ffi::OsString, sync::Arc};

use clap::{Arg, Command};
use clap_complete::engine;

use crate::{
    commands::grammar, process::Process, settings::Settings, text::sanitize::printable, usage,
};

/// A word that may follow.
#[derive(Debug, PartialEq)]
pub struct Candidate {
    pub value: String,
    /// One line, which may be empty.
    pub help: String,
}

/// The candidates for the word that begins with `current`. `before` are the words before it; the
/// first one is the program.
pub fn of(before: Vec<String>, current: &str) -> Vec<Candidate> {
    let mut words = usage::rewrite(before.into_iter().map(OsString::from).collect());
    let process = Arc::new(Process::current());
    let settings = Settings::load(&process, usage::profile(&words)).ok();
    let configured = settings.as_ref().and_then(Settings::model);
    let Some(model) = usage::model(&words, configured) else { return Vec::new() };
    let at = words.len();
    words.push(current.into());
    let directory = Some(&*process.directory).filter(|path| path.is_absolute());
    let used = |word: &str| words.iter().any(|typed| typed == word);
    let mut command = with_numbered(grammar(model, &used), current);
    let found = engine::complete(&mut command, words, at, directory);
    let mut candidates: Vec<Candidate> =
        found.unwrap_or_default().iter().filter_map(candidate).collect();
    // Flags are for those who type a `-`, unless nothing else may follow.
    let is_flag = |candidate: &Candidate| candidate.value.starts_with('-');
    if current.is_empty() && !candidates.iter().all(is_flag) {
        candidates.retain(|candidate| !is_flag(candidate));
    }
    candidates
}

/// Help has one line for the flags `--input-image` to `--input-image-8`. The later ones are offered
/// once `--input-image-` is typed.
fn with_numbered(command: Command, current: &str) -> Command {
    let Some(start) = current.strip_prefix("--").filter(|start| start.ends_with('-')) else {
        return command;
    };
    let is_numbered = |arg: &Arg| {
        let number = arg.get_long().and_then(|long| long.strip_prefix(start));
        number.is_some_and(|number| number.parse::<u8>().is_ok())
    };
    let shown = |command: Command| {
        command.mut_args(|arg| {
            let is_hidden = arg.is_hide_set() && !is_numbered(&arg);
            arg.hide(is_hidden)
        })
    };
    command.mut_subcommands(|command| shown(command).mut_subcommands(shown))
}

/// `None` if the shell could not read the value.
fn candidate(found: &engine::CompletionCandidate) -> Option<Candidate> {
    let value = found.get_value().to_str().filter(|value| printable(value) == *value)?;
    let help = found.get_help().map(ToString::to_string).unwrap_or_default();
    let help = printable(help.lines().next().unwrap_or_default());
    Some(Candidate { value: value.to_owned(), help })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn no_words_panic(words in prop::collection::vec(word(), 0..8), current in word()) {
            of(words, &current);
        }
    }

    const KNOWN: &str = "kiln generate run simulate task save help batch gen-2-flex -- - --model \
                         -m -m= --model=gen-2-pro --raw true --output --extra-image @ @@ .. / ~ \
                         ~/ --help -o -qv --profile {base_model}-finetuned --seed -1 a=b --state= \
                         --input-image- ,";

    fn word() -> impl Strategy<Value = String> {
        let known: Vec<&str> = KNOWN.split_whitespace().chain([""]).collect();
        prop_oneof![4 => prop::sample::select(known).prop_map(str::to_owned), 1 => ".{0,6}"]
    }
}
