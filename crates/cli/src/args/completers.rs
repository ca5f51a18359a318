//! Completes values on the command line: models, submissions of the history, profiles, settings,
//! prompts and images.
//!
//! The shell starts a separate process for each completion, so these functions read the real
//! process.

use std::{
    ffi::{OsStr, OsString},
    sync::Arc,
};

use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};

use crate::{
    history::{self, Entry},
    models,
    process::Process,
    settings::{
        Settings,
        names::{self, Name},
    },
    text::printable,
};
use imagekiln::Operation;

/// The maximum number of submissions that are offered, starting with the newest.
const RECENT: usize = 200;

/// The number of characters of the prompt that the help of a submission shows.
const PROMPT_LENGTH: usize = 40;

/// Which submissions an argument can name.
#[derive(Debug, Clone, Copy)]
pub enum Submissions {
    /// Submissions with a task.
    Any,
    /// Submissions with a task. Finished ones are offered only if no unfinished one fits.
    UnfinishedFirst,
    /// Unfinished submissions, even without a task.
    Unfinished,
}

/// Offers submissions by `@last`, by their numbers or by their ids, and files that contain a task.
pub fn submissions(which: Submissions) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        let mut candidates = of_history(which, &current.to_string_lossy());
        let has_files = !matches!(which, Submissions::Unfinished);
        if has_files && candidates.iter().all(CompletionCandidate::is_hide_set) {
            candidates.extend(PathCompleter::file().complete(current));
        }
        candidates
    })
}

fn of_history(which: Submissions, current: &str) -> Vec<CompletionCandidate> {
    let process = Process::current();
    let Ok(all) = history::read(&process) else { return Vec::new() };
    let mut all = all.flatten().peekable();
    let last = all.peek().map(|entry| entry.number);
    // A completion must be fast, and a long history contains only few unfinished submissions, so it
    // must not be read completely to find them.
    let entries: Box<dyn Iterator<Item = Entry>> = match (which, history::unfinished(&process)) {
        (Submissions::Unfinished, Ok(unfinished)) => Box::new(unfinished.flatten()),
        _ => Box::new(all),
    };
    let digits = current.strip_prefix('@').filter(|rest| rest.parse::<u64>().is_ok());
    let is_typed = |entry: &Entry| entry.number.to_string().starts_with(digits.unwrap_or_default());
    let entries = entries.filter(is_typed).filter(|entry| match which {
        Submissions::Any | Submissions::UnfinishedFirst => entry.record.task().is_some(),
        Submissions::Unfinished => !entry.is_finished(),
    });
    let mut candidates = Vec::new();
    for entry in entries.take(RECENT) {
        let is_hidden = matches!(which, Submissions::UnfinishedFirst) && entry.is_finished();
        candidates.extend(names(last, &entry, current).into_iter().map(|name| {
            CompletionCandidate::new(name).help(Some(describe(&entry).into())).hide(is_hidden)
        }));
    }
    candidates
}

/// The names of a submission that begin with `current`. The id is only offered after the user has
/// begun to type it.
fn names(last: Option<u64>, entry: &Entry, current: &str) -> Vec<String> {
    let id = entry.record.task().filter(|_| !current.is_empty()).map(|task| task.id().to_owned());
    let is_last = last == Some(entry.number);
    let names =
        is_last.then(|| "@last".to_owned()).into_iter().chain([format!("@{}", entry.number)]);
    names.chain(id).filter(|name| name.starts_with(current)).collect()
}

/// For example `unfinished, gen-2-pro: a red fox in the snow`.
fn describe(entry: &Entry) -> String {
    let prompt: String = entry.prompt().unwrap_or_default().chars().take(PROMPT_LENGTH).collect();
    let separator = if prompt.is_empty() { "" } else { ": " };
    printable(&format!("{}, {}{separator}{prompt}", entry.state(), entry.model()))
}

pub fn models() -> ArgValueCandidates {
    models_that(|_| true)
}

/// Offers the models that suit a command.
pub fn models_that(
    suit: impl Fn(&Operation) -> bool + Send + Sync + 'static,
) -> ArgValueCandidates {
    ArgValueCandidates::new(move || {
        let described = |model: &'static Operation| {
            CompletionCandidate::new(model.name).help(Some(models::summary(model).into()))
        };
        models::models().filter(|model| suit(model)).map(described).collect()
    })
}

/// Offers names, which are found when the user asks for them.
pub fn named<N: Into<OsString>, I: IntoIterator<Item = N>>(
    names: impl Fn() -> I + Send + Sync + 'static,
) -> ArgValueCandidates {
    ArgValueCandidates::new(move || names().into_iter().map(CompletionCandidate::new).collect())
}

/// Offers the names of models, each followed by an equals sign, for a model and its price.
pub fn model_prices() -> ArgValueCandidates {
    named(|| models::models().map(|model| format!("{}=", model.name)))
}

/// Offers fixed values.
pub fn offered(values: &'static [&'static str]) -> ArgValueCandidates {
    named(|| values.iter().copied())
}

/// Offers the settings that may be in `config.toml`.
pub fn settings() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let described =
            |name: &Name| CompletionCandidate::new(name.name).help(Some(name.what.into()));
        names::in_file().map(described).collect()
    })
}

/// Offers the values of a setting, if they are known.
pub fn of_setting(name: &str) -> ArgValueCandidates {
    match name {
        _ if name == names::MODEL.name => models(),
        _ if name == names::PRICES.name => model_prices(),
        _ if name == names::DESCRIBE.name => offered(&["true", "false"]),
        _ => offered(&[]),
    }
}

/// Offers the profiles in `config.toml`, and those with a stored key.
pub fn profiles() -> ArgValueCandidates {
    named(|| {
        let settings = Settings::without_file(&Arc::new(Process::current()), None).ok();
        // If the file cannot be read, offer at least the profiles with a stored key.
        let settings = settings.map(|settings| settings.with_file().unwrap_or(settings));
        settings.map(|settings| settings.profiles()).unwrap_or_default()
    })
}

/// Offers the presets in `config.toml`.
pub fn presets() -> ArgValueCandidates {
    named(|| {
        let settings = Settings::load(&Arc::new(Process::current()), None).ok();
        let names = settings.iter().flat_map(Settings::presets);
        names.map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
    })
}

/// Offers files for a prompt that begins with `@`.
pub fn prompt() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        after(current, |text| text.starts_with('@').then_some(0))
    })
}

/// Offers files and pictures of the history for an image.
pub fn image() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| match current.to_str() {
        Some(number) if number.starts_with('@') => of_history(Submissions::Any, number),
        _ => PathCompleter::file().complete(current),
    })
}

/// Offers files for the image in `NAME=IMAGE`.
pub fn image_of_field() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| after(current, |text| text.find('=')))
}

/// Offers files for the text after the character whose position `find` returns.
fn after(current: &OsStr, find: fn(&str) -> Option<usize>) -> Vec<CompletionCandidate> {
    let Some(text) = current.to_str() else { return Vec::new() };
    let Some(at) = find(text) else { return Vec::new() };
    let (head, path) = text.split_at(at + 1);
    let files = PathCompleter::file().complete(OsStr::new(path));
    files.into_iter().map(|file| file.add_prefix(head)).collect()
}
