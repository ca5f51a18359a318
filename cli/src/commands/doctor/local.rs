//! The checks without the network.

use std::path::Path;

use console::Term;
use tempfile::NamedTempFile;

use super::Check;
use crate::{
    failure::{Failure, exit::Exit},
    history,
    process::Process,
    settings::{Settings, stored::Stored},
};

/// The settings could be read.
pub fn settings(settings: &Settings) -> Check {
    let profile = &settings.profile;
    let file = match settings.path().filter(|path| path.exists()) {
        Some(path) => path.display().to_string(),
        None => "no config.toml".to_owned(),
    };
    Check::ok("settings", format!("profile `{}` ({}), {file}", profile.name, profile.source))
}

/// The directories of the settings and of the history.
pub fn directories(process: &Process, settings: &Settings) -> Vec<Check> {
    let stored = settings.stored().ok();
    let config = settings.directory().map(Path::to_owned);
    let state = history::directory(process);
    let keys = stored.as_ref().map(Stored::file);
    let private = keys.iter().flat_map(|key| [key.parent().unwrap_or(key), key]);
    let private: Vec<&Path> = private.collect();
    let config = directory("config", config, &private);
    let state = match state {
        Ok(path) => directory("history", Ok(path.clone()), &[&path]),
        Err(failure) => Check::failed("history", &failure),
    };
    vec![config, state]
}

/// Checks that a directory, or the one in which it would be created, can be written to, and that
/// other users can't read what is `private`.
fn directory(
    name: &'static str,
    path: Result<std::path::PathBuf, Failure>,
    private: &[&Path],
) -> Check {
    let path = match path {
        Ok(path) => path,
        Err(failure) => return Check::failed(name, &failure),
    };
    let shown = path.display();
    let existing = path.ancestors().find(|path| path.exists()).unwrap_or(&path);
    if let Err(error) = NamedTempFile::new_in(existing) {
        let text = format!("could not write to {}: {}", existing.display(), error.kind());
        return Check::problem(name, Exit::Other, text, "change its permissions or its owner");
    }
    if let Some(open) = private.iter().find(|path| is_open(path)) {
        let text = format!("other users can read {}", open.display());
        let mode = if open.is_dir() { "700" } else { "600" };
        return Check::problem(
            name,
            Exit::Other,
            text,
            format!("run `chmod {mode} {}`", open.display()),
        );
    }
    if existing == path {
        Check::ok(name, format!("{shown} is writable"))
    } else {
        Check::ok(name, format!("{shown} does not exist yet, and can be created"))
    }
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
pub fn terminal(process: &Process) -> Check {
    if !process.stderr.is_terminal {
        return Check::ok("terminal", "standard error is not a terminal, so no progress is shown");
    }
    let colours = if process.stderr.has_colours { "colours" } else { "no colours" };
    let width = Term::stderr()
        .size_checked()
        .map_or("unknown width".to_owned(), |(_, width)| format!("{width} columns"));
    Check::ok("terminal", format!("{width}, {colours}"))
}
