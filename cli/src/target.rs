//! Where the picture is saved. The target is checked before anything is paid.

use std::{
    ffi::OsStr,
    fs,
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use crate::failure::Failure;
use imagekiln::{FileKind, OutputFormat, Picture, TaskRef};

/// Where the picture is saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A file, replaced if it exists.
    File(PathBuf),
    /// A file in this directory, named after the model, the task and the picture's format.
    Named(PathBuf),
    /// A device or a pipe, which is written to: saving would replace it with a file.
    Special(PathBuf),
    /// Standard output.
    Stdout,
}

/// A saved picture.
#[derive(Debug)]
pub struct Saved {
    /// `None` for standard output.
    pub path: Option<PathBuf>,
    /// `None` if the bytes were passed on unchecked.
    pub kind: Option<FileKind>,
    pub bytes: u64,
}

impl Target {
    pub fn of(output: Option<&OsStr>) -> Self {
        let Some(output) = output else { return Self::Named(PathBuf::new()) };
        if output == "-" {
            return Self::Stdout;
        }
        let path = PathBuf::from(output);
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => Self::Named(path),
            Ok(metadata) if !metadata.is_file() => Self::Special(path),
            _ => Self::File(path),
        }
    }

    /// Checks that a picture can be saved there, so that none is paid for in vain.
    pub fn check(&self, json: bool) -> Result<(), Failure> {
        let directory = match self {
            Self::Named(directory) => here_if_empty(directory),
            Self::File(path) => {
                if path.file_name().is_none() || path.as_os_str().as_encoded_bytes().ends_with(b"/")
                {
                    return Err(Failure::usage(format!("{} is not a file name", path.display()))
                        .advise("nothing was sent; create the directory, or pass a file name"));
                }
                here_if_empty(path.parent().unwrap_or(path))
            }
            Self::Special(_) => return Ok(()),
            Self::Stdout if json => {
                return Err(Failure::usage("--json and --output - both use standard output")
                    .advise("nothing was sent; pass a file to --output"));
            }
            Self::Stdout if io::stdout().is_terminal() => {
                return Err(Failure::usage(
                    "could not write a picture to standard output: it is a terminal",
                )
                .advise("nothing was sent; redirect it to a file, or pass a file to --output"));
            }
            Self::Stdout => return Ok(()),
        };
        // The picture is written to a temporary file next to its target, so try that.
        NamedTempFile::new_in(directory).map(drop).map_err(|error| {
            // An error of the directory itself is clearer than that of the temporary file.
            let error = fs::metadata(directory).err().unwrap_or_else(|| error.kind().into());
            let problem = format!("could not write a picture to {}", directory.display());
            let advice =
                "nothing was sent or charged; create the directory, or pass another --output";
            Failure::file(problem, error).advise(advice)
        })
    }

    /// The format that the file extension asks for.
    pub fn wanted_format(&self) -> Option<OutputFormat> {
        match self {
            Self::File(path) => OutputFormat::from_extension(path.extension()?.to_str()?),
            _ => None,
        }
    }

    /// Downloads the picture and saves it.
    pub async fn receive(&self, picture: &Picture) -> Result<Saved, Failure> {
        match self {
            Self::File(path) => {
                let saved = picture.save(path).await?;
                Ok(Saved { path: Some(saved.path), kind: saved.kind, bytes: saved.bytes })
            }
            Self::Named(directory) => {
                let whole = directory.join(name(picture.task(), Id::Whole));
                let saved = picture.save(&whole).await?;
                let extension = saved.kind.map_or("picture", FileKind::extension);
                let ending = |id| format!("{}.{extension}", name(picture.task(), id));
                let path = give_name(
                    &whole,
                    &directory.join(ending(Id::Short)),
                    &directory.join(ending(Id::Whole)),
                )
                .map_err(|error| {
                    let whole = whole.display();
                    let problem = format!("saved the picture as {whole}, but could not rename it");
                    Failure::file(problem, error)
                })?;
                Ok(Saved { path: Some(path), kind: saved.kind, bytes: saved.bytes })
            }
            Self::Special(path) => {
                let file = path.clone();
                let open = move || fs::OpenOptions::new().write(true).open(file);
                let bytes = write_to(picture, &path.display().to_string(), open).await?;
                Ok(Saved { path: Some(path.clone()), kind: None, bytes })
            }
            Self::Stdout => {
                let bytes = write_to(picture, "standard output", || Ok(io::stdout())).await?;
                Ok(Saved { path: None, kind: None, bytes })
            }
        }
    }
}

/// Writes the picture to something that may block, on a separate thread, so that Ctrl-C still
/// works.
async fn write_to<W: Write>(
    picture: &Picture,
    what: &str,
    open: impl FnOnce() -> io::Result<W> + Send + 'static,
) -> Result<u64, Failure> {
    let bytes = picture.bytes().await?;
    let length = bytes.len() as u64;
    let writing = tokio::task::spawn_blocking(move || {
        let mut out = open()?;
        out.write_all(&bytes)?;
        out.flush()
    });
    let written = writing.await.map_err(io::Error::other).and_then(|outcome| outcome);
    written.map(|()| length).map_err(|error| {
        Failure::file(format!("could not write to {what}"), error).about(picture.task())
    })
}

fn here_if_empty(directory: &Path) -> &Path {
    if directory.as_os_str().is_empty() { Path::new(".") } else { directory }
}

/// Picks the short name if it is free, so that a picture never replaces another one whose id starts
/// alike.
fn give_name(saved: &Path, short: &Path, whole: &Path) -> io::Result<PathBuf> {
    match fs::hard_link(saved, short) {
        Ok(()) => fs::remove_file(saved).map(|()| short.to_owned()),
        // Taken, or the file system has no hard links.
        Err(_) => fs::rename(saved, whole).map(|()| whole.to_owned()),
    }
}

enum Id {
    Short,
    Whole,
}

/// `gen-2-pro-1a2b3c4d`. Ids come from the service, so they must not escape the directory.
fn name(task: &TaskRef, id: Id) -> String {
    let safe = |text: &str| {
        let safe: String = text
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || "._".contains(c) { c } else { '-' })
            .collect();
        safe.trim_matches(['-', '.']).to_owned()
    };
    let length = match id {
        Id::Short => 8,
        // Leaves room for the model and the extension within the 255 bytes of a file name.
        Id::Whole => 150,
    };
    let id: String = safe(task.id()).chars().take(length).collect();
    let model: String =
        task.operation().map_or("picture".to_owned(), safe).chars().take(80).collect();
    format!("{model}-{}", id.trim_end_matches(['-', '.']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_directory() {
        let named = |operation: &str, id: &str| {
            name(&TaskRef::new(id, "http://localhost/", Some(operation.to_owned())), Id::Short)
        };
        assert_eq!(named("gen-2-pro", "1a2b3c4d-5e6f"), "gen-2-pro-1a2b3c4d");
        assert_eq!(
            named("gen-tools/deblur-v1", "../../etc/passwd"),
            "gen-tools-deblur-v1-etc-pass"
        );
        assert_eq!(named("{base_model}-finetuned", "x"), "base_model--finetuned-x");
        assert_eq!(name(&TaskRef::new("é/", "http://localhost/", None), Id::Whole), "picture-");
    }

    #[test]
    fn a_second_picture_of_the_same_short_name_does_not_replace_the_first() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for (content, landed) in [("one", "short"), ("two", "whole")] {
            fs::write(at("saved"), content).unwrap();
            assert_eq!(give_name(&at("saved"), &at("short"), &at("whole")).unwrap(), at(landed));
            assert_eq!(fs::read_to_string(at(landed)).unwrap(), content);
        }
        assert_eq!(fs::read_to_string(at("short")).unwrap(), "one");
    }
}
