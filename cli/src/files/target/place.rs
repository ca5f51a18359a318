//! The places that `--output` can name.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use super::pattern::Pattern;
use crate::failure::Failure;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A file. Its ending follows the format of the picture.
    File(PathBuf),
    /// A file in this directory, named after the model, the task and the picture's format.
    Named(PathBuf),
    /// A file whose name has fields.
    Pattern(Pattern),
    /// A device or a pipe, which is written to: saving would replace it with a file.
    Special(PathBuf),
    /// Standard output.
    Stdout,
}

impl Place {
    /// The place that `--output` names. A brace begins a field, except in the path of an existing
    /// directory.
    pub fn of(output: Option<&OsStr>) -> Result<Self, Failure> {
        let Some(output) = output else { return Ok(Self::Named(PathBuf::new())) };
        if output == "-" {
            return Ok(Self::Stdout);
        }
        let path = Path::new(output);
        check_path(path)?;
        match output.to_str().filter(|text| text.contains('{') && !path.is_dir()) {
            None => Ok(Self::at(path)),
            Some(text) => {
                let pattern = Pattern::parse(text)?;
                Ok(pattern.plain().map_or(Self::Pattern(pattern), |path| Self::at(&path)))
            }
        }
    }

    /// The place that a path names. A separator at its end makes it a directory, which may not
    /// exist yet.
    pub fn at(path: &Path) -> Self {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => Self::Named(path.to_owned()),
            Ok(metadata) if !metadata.is_file() => Self::Special(path.to_owned()),
            _ if super::ends_with_separator(path.as_os_str()) => Self::Named(path.to_owned()),
            _ => Self::File(path.to_owned()),
        }
    }
}

/// Refuses an output that a shell has emptied, or in which it has not replaced a tilde.
pub fn check_path(path: &Path) -> Result<(), Failure> {
    if path.as_os_str().is_empty() {
        return Err(Failure::usage("--output is empty").advise(
            "nothing was sent; pass a file or a directory, and check that a variable in it is set",
        ));
    }
    match path.strip_prefix("~") {
        Ok(rest) => Err(Failure::usage(format!(
            "{} is in a directory named `~`, because the shell does not replace it in quotes",
            path.display()
        ))
        .advise(format!(
            "nothing was sent; write --output \"$HOME/{0}\", or ./~/{0} for that directory",
            rest.display()
        ))),
        Err(_) => Ok(()),
    }
}
