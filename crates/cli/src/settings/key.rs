//! Finds the API key: in the environment, in a file that the environment names, or in the file that
//! `kiln config login` has stored. No argument takes the key, because other users of the machine
//! can see arguments.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use super::{Settings, Source, is_profile, text};
use crate::{
    failure::Failure,
    files::{directory::write_private, if_exists, read_secret},
};
use imagekiln::{API_KEY_VARIABLE, KEY_HEADER};

pub const API_KEY_FILE_VARIABLE: &str = "IMAGEKILN_API_KEY_FILE";

/// The subdirectory for stored keys, and the ending of the files in it.
pub const DIRECTORY: &str = "keys";
pub const ENDING: &str = ".key";

/// Returns where the key in effect comes from, if there is one. Does not read the key.
pub fn source(settings: &Settings) -> Option<Source> {
    let of_environment = [API_KEY_VARIABLE, API_KEY_FILE_VARIABLE];
    if let Some(name) = of_environment.into_iter().find(|name| variable(settings, name).is_some()) {
        return Some(Source::Variable(name));
    }
    settings.key_file().ok().filter(|path| path.exists()).map(|_| Source::Login)
}

/// Reads the key in effect, if there is one.
pub fn find(settings: &Settings) -> Result<Option<String>, Failure> {
    let Some(source) = source(settings) else { return Ok(None) };
    let text = match source {
        Source::Login => {
            let text = of_file(&settings.key_file()?, "the stored API key");
            text.map_err(|failure| failure.advise("run `kiln config login` to store it again"))?
        }
        Source::Variable(API_KEY_FILE_VARIABLE) => {
            let path = PathBuf::from(variable(settings, API_KEY_FILE_VARIABLE).unwrap_or_default());
            of_file(&path, "the file in IMAGEKILN_API_KEY_FILE,")?
        }
        _ => {
            let text = text(&settings.process, API_KEY_VARIABLE)?.unwrap_or_default();
            check(text.trim(), API_KEY_VARIABLE).map_err(Failure::before_payment)?;
            text
        }
    };
    Ok(Some(text))
}

/// Returns a variable that is not blank.
fn variable(settings: &Settings, name: &str) -> Option<OsString> {
    settings.process.variable(name).filter(|value| !value.to_string_lossy().trim().is_empty())
}

fn of_file(path: &Path, what: &str) -> Result<String, Failure> {
    let text = read_secret(path, what)?;
    let key = text.trim();
    check(key, &format!("{what} {}", path.display())).map_err(Failure::before_payment)?;
    Ok(key.to_owned())
}

/// Refuses text that can't be a key, and says what is wrong with it without quoting it. Errors call
/// the text `what`.
pub fn check(text: &str, what: &str) -> Result<(), Failure> {
    let lower = text.to_ascii_lowercase();
    let is_in = |quote| text.len() > 1 && text.starts_with(quote) && text.ends_with(quote);
    let header = format!("{KEY_HEADER}:");
    let of_header = format!("begins with `{header}`");
    let (problem, advice) = if ['"', '\'', '`'].into_iter().any(is_in) {
        ("has quotation marks around it", "remove them")
    } else if lower.starts_with("bearer ") {
        ("begins with `Bearer`", "remove that word: the service takes the key alone")
    } else if lower.starts_with(&header) {
        (&*of_header, "remove that: it is the name of the header, which kiln adds")
    } else if text.contains(char::is_whitespace) {
        ("has spaces or several lines", "a key is one line without spaces")
    } else if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        ("has characters that no key has", "a key is one line of visible ASCII characters")
    } else {
        return Ok(());
    };
    Err(Failure::settings(format!("{what} is not an API key: it {problem}")).advise(advice))
}

/// Stores a key in a file that only its user can read.
pub fn store(path: &Path, key: &str) -> Result<(), Failure> {
    write_private(path, format!("{key}\n")).map_err(|error| {
        Failure::file(format!("could not store the API key in {}", path.display()), error)
    })
}

/// Deletes a stored key. Returns whether there was one.
pub fn delete(path: &Path) -> Result<bool, Failure> {
    let removed = if_exists(fs::remove_file(path)).map_err(|error| {
        Failure::file(format!("could not delete {}", path.display()), error)
            .advise("delete the file yourself")
    });
    Ok(removed?.is_some())
}

/// The profiles whose keys are stored.
pub fn profiles(directory: &Path) -> Vec<String> {
    let files = fs::read_dir(directory.join(DIRECTORY)).into_iter().flatten().flatten();
    let names = files.filter_map(|file| file.file_name().into_string().ok());
    let names = names.filter_map(|name| name.strip_suffix(ENDING).map(str::to_owned));
    names.filter(|name| is_profile(name)).collect()
}
