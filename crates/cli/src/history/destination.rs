//! Where the picture of a submission goes, as the history keeps it, and what became of its file: a
//! person may have deleted, moved, or changed it.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde::{Deserialize, Serialize};

use super::Entry;
use crate::{
    files::target::{Pattern, Place, Target, ends_with_separator},
    text::{now, quoted, rfc3339},
};
use imagekiln::{DELIVERY_VALIDITY, digest_of_file};
use imagekiln_label::Template;

/// A path in the form in which the history stores it. Not every path is valid Unicode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum StoredPath {
    Text(String),
    Raw(OsString),
}

impl From<&Path> for StoredPath {
    fn from(path: &Path) -> Self {
        match path.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Raw(path.as_os_str().to_owned()),
        }
    }
}

impl Default for StoredPath {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl StoredPath {
    pub fn path(&self) -> &Path {
        match self {
            Self::Text(text) => Path::new(text),
            Self::Raw(raw) => Path::new(raw),
        }
    }
}

/// The options of a command that decide the target of its picture, in a form that works in another
/// working directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Destination {
    /// The working directory of the command.
    directory: StoredPath,
    /// The absolute path of `--output`. `None` if the command has none, and for standard output,
    /// devices and pipes, because a later command cannot write to them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<StoredPath>,
    /// The name below `output`, if it has fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    template: Option<String>,
    #[serde(default)]
    overwrite: bool,
    #[serde(default)]
    mkdir: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    describe: bool,
}

impl Destination {
    /// Returns the destination of a command in a working directory. If `directory` is empty,
    /// relative paths stay relative.
    pub fn of(target: &Target, directory: &Path) -> Self {
        let (path, template) = match &target.place {
            Place::File(path) => (Some(path.clone()), None),
            Place::Named(path) if path.as_os_str().is_empty() => (None, None),
            // The separator at the end marks a directory, even if somebody deletes the directory.
            Place::Named(path) => (Some(path.join("")), None),
            Place::Pattern(pattern) => (Some(pattern.directory.clone()), Some(&pattern.template)),
            Place::Special(_) | Place::Stdout => (None, None),
        };
        Self {
            output: path.map(|path| directory.join(path).as_path().into()),
            directory: directory.into(),
            template: template.map(Template::to_string),
            overwrite: target.overwrite,
            mkdir: target.mkdir,
            describe: target.describe,
        }
    }

    /// Whether a later command saves the picture where this target does.
    pub fn is_for(&self, target: &Target, directory: &Path) -> bool {
        let other = Self::of(target, directory);
        let options = |one: &Self| (one.overwrite, one.mkdir, one.describe);
        // A separator at the end makes no difference between two paths.
        self.output().is_some_and(|output| Some(output) == other.output())
            && options(self) == options(&other)
    }

    /// Returns the absolute path of `--output`, which may contain fields, if a later command can
    /// save the picture there.
    pub fn output(&self) -> Option<PathBuf> {
        let path = self.output.as_ref()?.path();
        Some(self.template.as_ref().map_or(path.to_owned(), |template| path.join(template)))
    }

    /// Returns the target of the picture for a command in the directory `here`.
    pub fn target(&self, here: &Path) -> Target {
        let path = self.output.as_ref().unwrap_or(&self.directory).path();
        let is_directory = ends_with_separator(path.as_os_str());
        let path = relative(path, here);
        let template = self.template.as_deref().and_then(|text| Template::parse(text).ok());
        let place = match (&self.output, template) {
            (Some(_), Some(template)) => Place::Pattern(Pattern { directory: path, template }),
            (Some(_), None) if !is_directory && !path.as_os_str().is_empty() => Place::at(&path),
            _ => Place::Named(path),
        };
        let Self { overwrite, mkdir, describe, .. } = *self;
        Target { place, overwrite, mkdir, describe, title: None }
    }
}

impl Entry {
    /// Whether the picture was saved to a file that no longer exists.
    pub fn is_deleted(&self) -> bool {
        self.saved_path().is_some_and(|path| matches!(path.try_exists(), Ok(false)))
    }

    /// Whether the file of a saved picture still has the content that was saved. Reads the file.
    pub fn is_intact(&self) -> bool {
        self.saved_path().is_none_or(|path| match digest_of_file(path) {
            Ok(digest) => self.sha256().is_none_or(|saved| saved == digest),
            Err(_) => false,
        })
    }

    /// Returns until when the service delivers the picture, or `None` if that time has passed.
    pub fn delivered_until(&self) -> Option<SystemTime> {
        let until = self.record.ready_at()?.checked_add(DELIVERY_VALIDITY);
        until.filter(|until| *until > now())
    }

    /// Returns how to get a deleted picture again, for a person in the directory `here`.
    pub fn how_to_restore(&self, here: &Path) -> Option<String> {
        let path = self.saved_path().filter(|_| self.is_deleted())?;
        let number = self.number;
        Some(match self.delivered_until() {
            Some(until) => {
                let path = quoted(&relative(path, here).to_string_lossy());
                let until = rfc3339(until);
                format!("`kiln task save @{number} -o {path}` fetches it again until {until}")
            }
            None => {
                format!("`kiln again @{number}` makes the picture again, and pays for it again")
            }
        })
    }
}

/// Returns a path as people in the directory `here` would type it: relative, if the path is below
/// that directory.
pub fn relative(path: &Path, here: &Path) -> PathBuf {
    path.strip_prefix(here).unwrap_or(path).to_owned()
}
