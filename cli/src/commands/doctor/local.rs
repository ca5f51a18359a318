//! The checks without the network.

use std::path::{Path, PathBuf};

use console::Term;

use super::{Check, problem};
use crate::{
    failure::{Failure, exit::Exit},
    files::directory::probe,
    history,
    process::Process,
    settings::Settings,
};

/// The settings could be read.
pub fn settings(settings: &Settings) -> String {
    let profile = &settings.profile;
    let file = match settings.path() {
        Ok(path) if path.exists() => path.display().to_string(),
        _ => "no config.toml".to_owned(),
    };
    format!("profile `{}` ({}), {file}", profile.name, profile.source)
}

/// The directories of the settings and of the history.
pub fn directories(process: &Process, settings: &Settings) -> [Check; 2] {
    let key = settings.key_file().ok();
    let private: Vec<&Path> =
        key.iter().flat_map(|key| [key.parent().unwrap_or(key), key]).collect();
    let config = settings.directory().and_then(|path| directory(path, &private));
    let state = history::directory(process).and_then(|path: PathBuf| directory(&path, &[&path]));
    [Check::of("config", config), Check::of("history", state)]
}

/// Checks that a directory, or the one in which it would be created, can be written to, and that
/// other users can't read what is `private`.
fn directory(path: &Path, private: &[&Path]) -> Result<String, Failure> {
    let existing = path.ancestors().find(|path| path.exists()).unwrap_or(path);
    if let Err(error) = probe(existing) {
        let text = format!("could not write to {}: {}", existing.display(), error.kind());
        return Err(problem(Exit::Other, text, "change its permissions or its owner"));
    }
    if let Some(open) = private.iter().find(|path| is_open(path)) {
        let mode = if open.is_dir() { "700" } else { "600" };
        let open = open.display();
        let text = format!("other users can read {open}");
        return Err(problem(Exit::Other, text, format!("run `chmod {mode} {open}`")));
    }
    let state =
        if existing == path { "is writable" } else { "does not exist yet, and can be created" };
    Ok(format!("{} {state}", path.display()))
}

#[cfg(unix)]
fn is_open(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;

    path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_open(_: &Path) -> bool {
    false
}

/// The abilities of standard error. None of them is a problem.
pub fn terminal(process: &Process) -> String {
    if !process.stderr.is_terminal {
        return "standard error is not a terminal, so no progress is shown".to_owned();
    }
    let colours = if process.stderr.has_colours { "colours" } else { "no colours" };
    let width = Term::stderr()
        .size_checked()
        .map_or("unknown width".to_owned(), |(_, width)| format!("{width} columns"));
    format!("{width}, {colours}")
}
