//! The API key: from the environment, from a file that the environment names, or stored by
//! `kiln login`. It is in no argument, because other users of the machine can see arguments.

use std::{
    env, fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use super::{Settings, Source, profile};
use crate::{directory::create_private, failure::Failure, secret_file};
use imagekiln::API_KEY_VARIABLE;

/// The variable for a file that contains the API key.
pub const API_KEY_FILE_VARIABLE: &str = "IMAGEKILN_API_KEY_FILE";

/// The directory of the stored keys, and the ending of their files.
const DIRECTORY: &str = "keys";
const EXTENSION: &str = ".key";

/// A key, which must not be printed.
pub struct Key {
    text: String,
    pub source: Source,
}

impl Key {
    pub fn reveal(self) -> String {
        self.text
    }
}

/// The key in effect, if there is one.
pub fn find(settings: &Settings) -> Result<Option<Key>, Failure> {
    let variable =
        |name| env::var_os(name).filter(|value| !value.to_string_lossy().trim().is_empty());
    if let Some(text) = variable(API_KEY_VARIABLE) {
        // The error would quote the key.
        let text = text
            .into_string()
            .map_err(|_| Failure::settings(format!("{API_KEY_VARIABLE} is not valid Unicode")))?;
        return Ok(Some(Key { text, source: Source::Variable(API_KEY_VARIABLE) }));
    }
    let (path, what, source) = match (variable(API_KEY_FILE_VARIABLE), settings.key_path()) {
        (Some(path), _) => (
            PathBuf::from(path),
            "the file in IMAGEKILN_API_KEY_FILE,",
            Source::Variable(API_KEY_FILE_VARIABLE),
        ),
        (None, Some(path)) if path.exists() => (path, "the stored API key", Source::Login),
        _ => return Ok(None),
    };
    let text = secret_file::read(&path, what)?;
    match is_key(text.trim()) {
        true => Ok(Some(Key { text: text.trim().to_owned(), source })),
        false => Err(Failure::settings(format!("{what} {} is not an API key", path.display()))
            .advise(match source {
                Source::Login => "run `kiln login` to store it again",
                _ => "the file must contain only the key",
            })),
    }
}

/// Whether this can be a key: visible characters without spaces.
pub fn is_key(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Where the key of a profile is stored.
pub fn path(directory: &Path, profile: &str) -> PathBuf {
    directory.join(DIRECTORY).join(format!("{profile}{EXTENSION}"))
}

/// The profiles whose keys are stored.
pub fn profiles(directory: &Path) -> Vec<String> {
    let files = fs::read_dir(directory.join(DIRECTORY)).into_iter().flatten().flatten();
    let names = files.filter_map(|file| file.file_name().into_string().ok());
    let names = names.filter_map(|name| name.strip_suffix(EXTENSION).map(str::to_owned));
    names.filter(|name| profile::is_valid(name)).collect()
}

/// Stores a key so that only this user can read it. A key that was stored before is replaced.
pub fn store(path: &Path, key: &str) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    create_private(directory)?;
    // A temporary file has the mode 0600 from its creation.
    let mut file = NamedTempFile::new_in(directory)?;
    writeln!(file, "{key}")?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Deletes a stored key. Returns whether there was one.
pub fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
