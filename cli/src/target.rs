//! Where the picture goes: found fit before anything is paid.

use std::{
    ffi::OsStr,
    fs,
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
};

use imagekiln::{FileKind, OutputFormat, Picture, TaskRef};
use tempfile::NamedTempFile;

use crate::failure::Failure;

/// Where the picture goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A file, which is replaced.
    File(PathBuf),
    /// A file in this directory, named after the model, the task and what came.
    Named(PathBuf),
    /// A device or a pipe, written into: replacing it would put a file in its place.
    Special(PathBuf),
    /// Standard output.
    Stdout,
}

/// A picture that arrived.
#[derive(Debug)]
pub struct Arrived {
    /// `None` on standard output.
    pub path: Option<PathBuf>,
    /// `None` where it was passed on as it came.
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

    /// Finds out whether a picture can be put there, so that none is paid for that can't.
    pub fn check(&self, json: bool) -> Result<(), Failure> {
        let directory = match self {
            Self::Named(directory) => here_if_empty(directory),
            Self::File(path) => {
                if path.file_name().is_none() || path.as_os_str().as_encoded_bytes().ends_with(b"/")
                {
                    return Err(Failure::usage(format!("{} is no name of a file", path.display()))
                        .advise("nothing was sent; create the directory, or give a file's name"));
                }
                here_if_empty(path.parent().unwrap_or(path))
            }
            Self::Special(_) => return Ok(()),
            Self::Stdout if json => {
                return Err(Failure::usage("--json and --output - both want standard output")
                    .advise("nothing was sent; give a file to --output"));
            }
            Self::Stdout if io::stdout().is_terminal() => {
                return Err(Failure::usage(
                    "standard output is a terminal, which can't show a picture",
                )
                .advise("nothing was sent; redirect it to a file, or give a file to --output"));
            }
            Self::Stdout => return Ok(()),
        };
        // The picture is written to a temporary file beside its target, so that is what is tried.
        NamedTempFile::new_in(directory).map(drop).map_err(|error| {
            // The fault of the directory itself says more than one of a temporary file in it.
            let error = fs::metadata(directory).err().unwrap_or_else(|| error.kind().into());
            Failure::file(format!("no picture can be written into {}", directory.display()), error)
                .advise("nothing was sent, and nothing paid; create the directory, or give another --output")
        })
    }

    /// The format that the file's ending asks for.
    pub fn wanted_format(&self) -> Option<OutputFormat> {
        match self {
            Self::File(path) => OutputFormat::from_extension(path.extension()?.to_str()?),
            _ => None,
        }
    }

    /// Fetches the picture and puts it there.
    pub async fn receive(&self, picture: &Picture) -> Result<Arrived, Failure> {
        match self {
            Self::File(path) => {
                let saved = picture.save(path).await?;
                Ok(Arrived { path: Some(saved.path), kind: saved.kind, bytes: saved.bytes })
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
                    Failure::file(
                        format!(
                            "the picture is saved as {}, and could not be renamed",
                            whole.display()
                        ),
                        error,
                    )
                })?;
                Ok(Arrived { path: Some(path), kind: saved.kind, bytes: saved.bytes })
            }
            Self::Special(path) => {
                let file = path.clone();
                let open = move || fs::OpenOptions::new().write(true).open(file);
                let bytes = pour(picture, &path.display().to_string(), open).await?;
                Ok(Arrived { path: Some(path.clone()), kind: None, bytes })
            }
            Self::Stdout => {
                let bytes = pour(picture, "standard output", || Ok(io::stdout())).await?;
                Ok(Arrived { path: None, kind: None, bytes })
            }
        }
    }
}

/// Writes the picture into something that may keep its writer waiting, so on a thread of its own:
/// Ctrl-C is still heard.
async fn pour<W: Write>(
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
        Failure::file(format!("{what} can't be written"), error).about(picture.task())
    })
}

fn here_if_empty(directory: &Path) -> &Path {
    if directory.as_os_str().is_empty() { Path::new(".") } else { directory }
}

/// The short name where it is free: ids that start alike must not make one picture replace another.
fn give_name(saved: &Path, short: &Path, whole: &Path) -> io::Result<PathBuf> {
    match fs::hard_link(saved, short) {
        Ok(()) => fs::remove_file(saved).map(|()| short.to_owned()),
        // Taken, or a file system without links.
        Err(_) => fs::rename(saved, whole).map(|()| whole.to_owned()),
    }
}

enum Id {
    Short,
    Whole,
}

/// `gen-2-pro-1a2b3c4d`. Ids come from the service, so they must not lead out of the directory.
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
        // Room for the model and the ending within the 255 bytes of a file's name.
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
