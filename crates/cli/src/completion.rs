//! Completion of command lines. The completion script of a shell runs `kiln __complete SHELL ...`
//! with the words that the user has typed, and kiln prints the candidates for the next word, one
//! per line.
//!
//! Completion writes no file and sends no request. A file that can't be read, such as a ledger,
//! offers no candidates.

use std::{ffi::OsString, io::Write as _, sync::Arc};

use clap::{Arg, Command};
use clap_complete::{Shell, engine};

use crate::{
    args::completers,
    commands::{again, batch},
    failure::Exit,
    process::Process,
    settings::Settings,
    text::printable,
    usage,
};

/// The command that the scripts run. Users have installed scripts of earlier versions, so its
/// arguments and its output must stay as they are.
const COMMAND: &str = "__complete";

/// Completes a command line, if the arguments ask for that.
pub fn run(arguments: &[OsString]) -> Option<Exit> {
    let [_, command, shell, typed @ ..] = arguments else { return None };
    if command != COMMAND {
        return None;
    }
    // The command fails without a message, because the terminal would show the message in the
    // middle of the command line that the user is typing.
    let Some(shell) = shell.to_str().and_then(|name| name.parse::<Shell>().ok()) else {
        return Some(Exit::Other);
    };
    // A word that is not valid Unicode is neither a flag nor a model, so only its position matters.
    let typed: Vec<_> = typed.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let text = complete(shell, &typed);
    // Fails if the shell has closed the pipe, and then nobody needs the candidates.
    let _ = Process::current().stdout.write_all(text.as_bytes());
    Some(Exit::Success)
}

/// A word that the user may type next.
#[derive(Debug, PartialEq)]
struct Candidate {
    value: String,
    /// One line about the word, or nothing.
    help: String,
}

/// Returns the candidates for the word that begins with `current`. `before` has the words before
/// it, starting with the name of the program.
fn candidates(before: Vec<String>, current: &str) -> Vec<Candidate> {
    let mut words = usage::rewrite(before.into_iter().map(OsString::from).collect());
    let process = Arc::new(Process::current());
    let settings = Settings::load(&process, usage::named(&words, "--profile")).ok();
    let configured =
        settings.as_ref().and_then(|it| it.model_with(usage::named(&words, "--preset")));
    let model = usage::model(&words, configured);
    let at = words.len();
    words.push(current.into());
    let directory = Some(&*process.directory).filter(|path| path.is_absolute());
    let made_with = |picture: &str| again::made_with(&process, picture);
    let (grammar, _) = usage::grammar_of(&words, model, made_with);
    let mut command = with_numbered(with_values(grammar, &words), current);
    let found = engine::complete(&mut command, words, at, directory);
    let mut candidates: Vec<Candidate> =
        found.unwrap_or_default().iter().filter_map(candidate).collect();
    // Offers flags only to users who have typed a `-`, unless nothing but flags may follow.
    let is_flag = |candidate: &Candidate| candidate.value.starts_with('-');
    if current.is_empty() && !candidates.iter().all(is_flag) {
        candidates.retain(|candidate| !is_flag(candidate));
    }
    candidates
}

/// Adds the candidates that depend on earlier words: the values of the setting that `config set`
/// names, and the jobs of the ledger that the batch uses.
fn with_values(command: Command, words: &[OsString]) -> Command {
    let setting = words.iter().skip_while(|word| *word != "set").nth(1);
    let setting = setting.and_then(|name| name.to_str()).unwrap_or_default();
    let with_setting = |arg: Arg| arg.add(completers::of_setting(setting));
    let place = usage::value(words, &["--ledger"]).or(usage::value(words, &["--output", "-o"]));
    let ledger = place.map(|(_, place)| place);
    command
        .mut_subcommand(batch::NAME, |command| batch::with_jobs(command, ledger))
        .mut_subcommand("config", |config| {
            config.mut_subcommand("set", |set| set.mut_arg("value", with_setting))
        })
}

/// Shows the numbered flags whose beginning the user has typed. Help has one line for the flags
/// `--input-image` to `--input-image-8`, so all but the first are hidden; they are offered once the
/// user has typed `--input-image-`.
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

/// Returns `None` if the value has control characters or is not valid Unicode: scripts read one
/// candidate per line.
fn candidate(found: &engine::CompletionCandidate) -> Option<Candidate> {
    let value = found.get_value().to_str().filter(|value| printable(value) == *value)?;
    let help = found.get_help().map(ToString::to_string).unwrap_or_default();
    let help = printable(help.lines().next().unwrap_or_default());
    Some(Candidate { value: value.to_owned(), help })
}

/// Returns the candidates for what the user has typed, in the form that the script of the shell
/// reads.
fn complete(shell: Shell, typed: &[String]) -> String {
    let (current, before) = typed.split_last().map_or(("", typed), |(a, b)| (a.as_str(), b));
    match shell {
        Shell::Zsh => {
            let before = before.iter().map(|word| unquoted(word)).collect();
            lines(candidates(before, &unquoted(current)), for_zsh)
        }
        // fish, PowerShell and Elvish have already removed the quotes from the words before the
        // last one.
        Shell::Fish => lines(candidates(before.to_vec(), &unquoted(current)), with_help),
        Shell::PowerShell => {
            let current = unquoted(current.strip_prefix('=').unwrap_or(current));
            lines(candidates(before.to_vec(), &current), with_help)
        }
        Shell::Elvish => lines(candidates(before.to_vec(), current), with_help),
        _ => for_bash(before.first().map_or("", String::as_str), current),
    }
}

/// bash passes the line up to the cursor, and the end of the line that the chosen candidate
/// replaces. This end starts after the last quote, `=` or `:`, so the part of a candidate that is
/// typed before it is left out.
fn for_bash(line: &str, replaced: &str) -> String {
    let Typed { before, current, .. } = Typed::read(line);
    let kept = Typed::read(line.strip_suffix(replaced).unwrap_or_default());
    lines(candidates(before, &current), |Candidate { value, .. }| {
        quoted(value.strip_prefix(&kept.current).unwrap_or(value), kept.quote)
    })
}

/// A command line that ends at the cursor, without its quotes and backslashes.
#[derive(Debug, Default, PartialEq)]
struct Typed {
    before: Vec<String>,
    /// The word at the cursor, which may be empty.
    current: String,
    /// The quote that is open at the cursor.
    quote: Option<char>,
}

impl Typed {
    fn read(line: &str) -> Self {
        // Stands for the next character that the user would type, so that an empty word at the
        // cursor is not lost. No shell can pass this character in an argument.
        const CURSOR: char = '\0';
        let read = |quote: Option<char>| {
            let end = quote.map(String::from).unwrap_or_default();
            let mut before = shlex::split(&format!("{line}{CURSOR}{end}"))?;
            let current = before.pop()?.strip_suffix(CURSOR)?.to_owned();
            Some(Self { before, current, quote })
        };
        [None, Some('\''), Some('"')].into_iter().find_map(read).unwrap_or_default()
    }
}

fn unquoted(word: &str) -> String {
    Typed::read(word).current
}

/// Quotes a text so that bash reads it as one word. `quote` is the quote that is open before the
/// text.
fn quoted(text: &str, quote: Option<char>) -> String {
    if quote == Some('\'') {
        return text.replace('\'', r"'\''");
    }
    // bash expands a `~/` at the beginning only if the `~` is not quoted.
    let home = if quote.is_none() && text.starts_with("~/") { "~" } else { "" };
    let is_plain = |c: char| match quote {
        None => c.is_alphanumeric() || "-_./:=@%+,^".contains(c),
        Some(_) => !"\"\\$`".contains(c),
    };
    let rest = text[home.len()..].chars();
    let escaped = rest.flat_map(|c| [(!is_plain(c)).then_some('\\'), Some(c)]);
    home.chars().chain(escaped.flatten()).collect()
}

fn lines(candidates: Vec<Candidate>, line: impl Fn(&Candidate) -> String) -> String {
    candidates.iter().map(|candidate| line(candidate) + "\n").collect()
}

fn with_help(candidate: &Candidate) -> String {
    joined(candidate.value.clone(), '\t', &candidate.help)
}

/// zsh separates the help with a colon.
fn for_zsh(candidate: &Candidate) -> String {
    let value = candidate.value.replace('\\', "\\\\").replace(':', "\\:");
    joined(value, ':', &candidate.help.replace('\\', "\\\\"))
}

fn joined(value: String, separator: char, help: &str) -> String {
    if help.is_empty() { value } else { format!("{value}{separator}{help}") }
}

#[cfg(test)]
mod tests {
    use clap::ValueHint;
    use proptest::prelude::*;

    use super::*;
    use crate::commands::grammar;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn no_words_panic(words in prop::collection::vec(word(), 0..8), current in word()) {
            candidates(words, &current);
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

    /// Values for which completion cannot list candidates: the name of the value of an argument,
    /// and the reason.
    const FREE: &[(&str, &str)] = &[
        ("INTEGER", "any number"),
        ("NUMBER", "any number"),
        ("N", "any number"),
        ("SEEDS", "any numbers"),
        ("FRACTION", "any number"),
        ("CREDITS", "any number"),
        ("PRICE", "any number"),
        ("PORT", "any free one"),
        ("W:H", "any ratio"),
        ("WIDTHxHEIGHT", "any size"),
        ("DURATION", "any time"),
        ("SECONDS", "any time"),
        ("WHEN", "any time"),
        ("TEXT", "what a person wants to say"),
        ("JSON", "depends on the model"),
        ("WORD", "words of prompts"),
        ("SECRET", "secrets are not shown"),
        ("TOKEN", "secrets are not shown"),
        ("KEY", "the name of a request that its author chooses"),
        ("URL", "an address of the user's network"),
        ("ADDRESS", "an address of the user's network"),
        ("HOST", "an address of the user's network"),
        ("ORIGIN", "an address of the user's network"),
        ("STATUSES", "any words"),
        ("PREFIX", "any word"),
        ("PATH", "the path of a URL that its user chooses"),
        ("POINTER", "the place in a body that only the service knows"),
        ("NAME: VALUE", "a header that only the service knows"),
        ("COLUMN=NAME", "a column of a file that is not read"),
        ("NAME=VALUE", "a field that the contract does not list"),
        ("NAME=TEXT", "a part of a prompt"),
        ("TEMPLATE", "a name with fields"),
        ("ID", "the id of a task that is not known here"),
        ("--FIELD VALUE", "the flags depend on the picture, which is typed first"),
        ("COMMAND", "`kiln help` is completed as the command itself"),
    ];

    /// The ids of arguments with such values whose value is called NAME. Other arguments called
    /// NAME have candidates, such as the names of presets.
    const FREE_NAMES: &[&str] = &[
        "new_preset",
        "signature_header",
        "id_header",
        "timestamp_header",
        "prompt_column",
        "parameter base_model",
        "parameter finetune_id",
    ];

    #[test]
    fn every_value_is_completed_or_free() {
        fn check(command: &Command, path: &str, wrong: &mut Vec<String>) {
            let path = format!("{path} {}", command.get_name());
            for arg in command.get_arguments().filter(|arg| arg.get_action().takes_values()) {
                let is_completed = !arg.get_possible_values().is_empty()
                    || arg.get::<engine::ArgValueCandidates>().is_some()
                    || arg.get::<engine::ArgValueCompleter>().is_some()
                    || arg.get_value_hint() != ValueHint::Unknown;
                let name = arg.get_value_names().and_then(|names| names.first());
                let name = name.map(ToString::to_string).unwrap_or_default();
                let id = arg.get_id().as_str();
                let is_free = FREE.iter().any(|(free, _)| *free == name)
                    || name == "NAME" && FREE_NAMES.contains(&id);
                if !is_completed && !is_free && !arg.is_hide_set() {
                    wrong.push(format!("{path}: {id} <{name}>"));
                }
            }
            command.get_subcommands().for_each(|inner| check(inner, &path, wrong));
        }
        let model = crate::models::default();
        let mut wrong = Vec::new();
        check(&with_values(grammar(model, &|_| true), &[]), "", &mut wrong);
        wrong.sort();
        wrong.dedup();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn a_quoted_text_is_read_as_the_same_text() {
        for text in ["{base_model}-finetuned", "my fox (1).png", "it's", "$HOME", "`ls`", "a\"\\b"]
        {
            for quote in [None, Some('\''), Some('"')] {
                let open = quote.map(String::from).unwrap_or_default();
                let word = format!("{open}{}", quoted(text, quote));
                assert_eq!(
                    Typed::read(&word),
                    Typed { current: text.to_owned(), quote, ..Typed::default() }
                );
            }
        }
        assert_eq!(quoted("~/my fox", None), "~/my\\ fox");
        assert_eq!(quoted("~fox", None), "\\~fox");
        assert_eq!(quoted("gen-tools/deblur-v1", None), "gen-tools/deblur-v1");
    }
}
