//! The target of a picture, which is checked before anything is paid.

mod damaged;
mod names;
mod place;

use std::{
    error::Error as _,
    fs,
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
};

use tokio::task::spawn_blocking;

pub use self::names::title;
use self::place::LONGEST_ID;
#[cfg(feature = "batch")]
pub use self::place::check_path;
pub use self::place::{Pattern, Place, ends_with_separator};
use crate::{
    failure::{Failure, Remedy},
    files::directory::{self, here_if_empty, parent, probe},
    process::Stream,
    text::one_line,
};
use imagekiln::{DownloadedPicture, Error, FileKind, Picture, TaskRef, types::OutputFormat};
use imagekiln_label::TemplateFields;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub place: Place,
    pub overwrite: bool,
    pub mkdir: bool,
    /// Whether to write a file beside the picture that describes it.
    pub describe: bool,
    /// The words with which the name of the picture begins if the user has not named it: those of
    /// the prompt. Without a title, the name begins with the model.
    pub title: Option<String>,
}

#[derive(Debug, Default)]
pub struct Saved {
    /// The path, or `None` if the picture was written to standard output.
    pub path: Option<PathBuf>,
    /// The format, or `None` if the bytes were written to a stream without a check.
    pub kind: Option<FileKind>,
    pub bytes: u64,
    /// The digest, or `None` if the bytes were written to a stream.
    pub sha256: Option<String>,
    /// Why the path differs from the one that the user has given.
    pub notes: Vec<String>,
    /// How the picture differs from what its request asked for.
    pub difference: Option<String>,
}

impl Target {
    /// The target of one picture, about which these facts are known before its submission.
    pub fn filled(&self, known: &TemplateFields<'_>) -> Result<Self, Failure> {
        let place = match &self.place {
            Place::Pattern(pattern) => Place::Pattern(pattern.filled(known)?),
            place => place.clone(),
        };
        Ok(Self { place, title: title(known.prompt), ..*self })
    }

    /// The same target, except that pictures that the user has not named get the names of the
    /// images that they are made from. Below `--output`, a picture has the name of its image. In
    /// the working directory, which may contain the image itself, `-edited` is added. `count` is
    /// the number of pictures of each image; if there are several, the seed is added, too.
    pub fn named_after_images(self, count: usize) -> Result<Self, Failure> {
        let Place::Named(directory) = &self.place else { return Ok(self) };
        let edited = if directory.as_os_str().is_empty() { "-edited" } else { "" };
        let seed = if count > 1 { "-{seed}" } else { "" };
        let name = Pattern::parse(&format!("{{name}}{edited}{seed}.{{ext}}"))?;
        let place = Place::Pattern(Pattern { directory: directory.clone(), ..name });
        Ok(Self { place, ..self })
    }

    /// The value of `--output`, if there is one.
    pub fn shown(&self) -> Option<String> {
        let output = match &self.place {
            Place::File(path) | Place::Named(path) | Place::Special(path) => path.clone(),
            Place::Pattern(pattern) => pattern.shown(),
            Place::Stdout => "-".into(),
        };
        let output = output.to_string_lossy().into_owned();
        (!output.is_empty()).then_some(output)
    }

    /// The options that set this target, for the command line of another command.
    pub fn words(&self) -> Vec<String> {
        let flags = [
            (self.overwrite, "--overwrite"),
            (self.mkdir, "--mkdir"),
            (self.describe, "--describe"),
        ];
        let flags = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag.into());
        let output = self.shown().map(|output| ["--output".into(), output]);
        output.into_iter().flatten().chain(flags).collect()
    }

    /// Checks that a picture can be saved at the target. With `--mkdir`, creates missing
    /// directories.
    pub fn check(&self, json: bool, stdout: &Stream) -> Result<(), Failure> {
        let elsewhere = |problem| Failure::usage(problem).remedied_by(Remedy::Elsewhere);
        let directory = match &self.place {
            Place::Named(directory) => here_if_empty(directory),
            Place::Pattern(pattern) => here_if_empty(&pattern.directory),
            Place::File(path) if path.file_name().is_none() => {
                return Err(elsewhere(format!("{} is not a file name", path.display())));
            }
            Place::File(path) => parent(path),
            Place::Stdout if json => {
                return Err(elsewhere("--json and --output - both use standard output".to_owned()));
            }
            Place::Stdout if stdout.is_terminal => {
                let problem = "could not write a picture to standard output: it is a terminal";
                return Err(elsewhere(problem.to_owned())
                    .advise("redirect it to a file, or pass a file to --output"));
            }
            Place::Special(_) | Place::Stdout => return Ok(()),
        };
        // The picture is first written to a temporary file next to its target, so test whether such
        // a file can be created.
        let tried = self.create(directory).and_then(|()| probe(directory));
        tried.map_err(|error| {
            // An error with the directory itself is clearer than an error with the temporary file
            // in it.
            let error = fs::metadata(directory).err().unwrap_or_else(|| error.kind().into());
            let remedy = directory::remedy(error.kind(), directory);
            not_a_target(directory, error).remedied_by(remedy)
        })
    }

    /// Creates the directory, if `--mkdir` is set.
    fn create(&self, directory: &Path) -> io::Result<()> {
        if self.mkdir { fs::create_dir_all(directory) } else { Ok(()) }
    }

    /// Checks that the file system accepts the name of the picture, as far as the name is known.
    /// The directory must exist. After the payment, a name that is too long is shortened instead.
    pub fn check_name(&self) -> Result<(), Failure> {
        let path = match &self.place {
            Place::File(path) => path.clone(),
            Place::Pattern(pattern) => pattern.path(&"x".repeat(LONGEST_ID), None),
            Place::Named(_) | Place::Special(_) | Place::Stdout => return Ok(()),
        };
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(not_a_target(&path, error).remedied_by(Remedy::Elsewhere))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a file name with the ending of a format that no model produces.
    pub fn check_ending(&self) -> Result<(), Failure> {
        let Some(path) = self.file_name().filter(|path| names::is_impossible(path)) else {
            return Ok(());
        };
        let ending = path.extension().unwrap_or_default().display();
        Err(Failure::usage(format!("no model produces .{ending} files: {}", path.display()))
            .advise("nothing was sent; use .jpg, .png or .webp, or no ending"))
    }

    /// The format that the ending of the file name selects.
    pub fn wanted_format(&self) -> Option<OutputFormat> {
        let name = self.file_name()?;
        let extension = name.extension()?.to_str()?;
        match FileKind::of_extension(extension)? {
            FileKind::Jpeg => Some(OutputFormat::Jpeg),
            FileKind::Png => Some(OutputFormat::Png),
            FileKind::Webp => Some(OutputFormat::Webp),
            _ => None,
        }
    }

    /// The path or the name of the file, if the user has chosen its ending.
    fn file_name(&self) -> Option<PathBuf> {
        match &self.place {
            Place::File(path) => Some(path.clone()),
            Place::Pattern(pattern) => Some(pattern.file_name().into()),
            _ => None,
        }
    }

    /// Downloads the picture and saves it, or writes it to `stdout`.
    pub async fn receive(&self, picture: &Picture, stdout: &Stream) -> Result<Saved, Failure> {
        match &self.place {
            Place::File(path) => {
                // With `--overwrite`, a symbolic link stays, and the file that it points to is
                // replaced.
                let behind = if self.overwrite { fs::canonicalize(path).ok() } else { None };
                let wanted = behind.as_deref().unwrap_or(path);
                let name = |_| wanted.to_owned();
                let file = self.download(picture, parent(wanted), path, name).await?;
                self.save(file, wanted, path).await
            }
            Place::Named(directory) => {
                let title = self.title.as_deref();
                let names = |kind| names::of_task((picture.task(), title), directory, kind);
                let name = |kind| names(kind).next().unwrap_or_default();
                let file = self.download(picture, directory, directory, name).await?;
                let path = take_name(&file, names(file.kind)).await;
                let path = path.map_err(|error| unsaved(&error, directory, directory))?;
                Ok(saved(&file, path, Vec::new()))
            }
            Place::Pattern(pattern) => {
                let name = |kind| pattern.path(picture.task().id(), kind);
                let directory = &pattern.directory;
                let file = self.download(picture, directory, directory, name).await?;
                let path = name(file.kind);
                let directory = parent(&path);
                fs::create_dir_all(directory)
                    .map_err(|error| unwritable(picture, &path, directory, error))?;
                self.save(file, &path, &path).await
            }
            Place::Special(path) => {
                let file = path.clone();
                let open = move || fs::OpenOptions::new().write(true).open(file);
                let bytes = write_to(picture, &path.display().to_string(), open).await?;
                Ok(passed_on(Some(path.clone()), bytes))
            }
            Place::Stdout => {
                let stdout = stdout.clone();
                let bytes = write_to(picture, "standard output", || Ok(stdout)).await?;
                Ok(passed_on(None, bytes))
            }
        }
    }

    /// Downloads the picture to a temporary file in the directory of its target, which may have
    /// disappeared since the check. Errors name the target. A damaged delivery is kept beside the
    /// path that `name` returns.
    async fn download(
        &self,
        picture: &Picture,
        directory: &Path,
        target: &Path,
        name: impl Fn(Option<FileKind>) -> PathBuf,
    ) -> Result<DownloadedPicture, Failure> {
        let directory = here_if_empty(directory);
        let created = self.create(directory);
        created.map_err(|error| unwritable(picture, target, directory, error))?;
        // The record of the submission stays open until the file has its final name. If the process
        // ends before that, the next one resumes the task.
        let downloaded = picture.download_in(directory).await;
        downloaded.map_err(|error| {
            let mut failure = unsaved(&error, target, directory);
            if let Some(damaged) = error.damaged() {
                match damaged::keep(damaged, &name(damaged.kind())) {
                    Ok(path) => failure.kept = Some(path),
                    Err(error) => failure.causes.push(format!("its bytes are lost: {error}")),
                }
            }
            failure
        })
    }

    /// Moves the picture to the wanted name, with an ending that fits its format, or to the next
    /// name that is free. Messages call the wanted name `given`.
    async fn save(
        &self,
        file: DownloadedPicture,
        wanted: &Path,
        given: &Path,
    ) -> Result<Saved, Failure> {
        let kind = file.kind;
        let fitting = kind.map_or_else(|| wanted.to_owned(), |kind| names::fitting(wanted, kind));
        let mut notes = Vec::new();
        if let Some(kind) = kind.filter(|_| fitting != wanted) {
            notes.push(format!("the picture is {kind}, so its ending is .{}", kind.extension()));
        }
        let allowed = names::allowed(fitting.clone());
        if allowed != fitting {
            notes.push(format!("the name is too long, so it became {}", allowed.display()));
        }
        let path = if self.overwrite {
            file.replace(&allowed).await.map(|saved| saved.path)
        } else {
            take_name(&file, names::numbered(allowed.clone())).await
        };
        let path = path.map_err(|error| unsaved(&error, given, parent(&allowed)))?;
        if path != allowed {
            let (taken, path) = (allowed.display(), path.display());
            notes.push(format!(
                "{taken} exists, so the picture is saved as {path}; --overwrite replaces files"
            ));
        }
        let path = if path == wanted { given.to_owned() } else { path };
        Ok(saved(&file, path, notes))
    }
}

/// Moves the picture to the first of the names that is free. Two processes never take the same
/// name.
async fn take_name(
    file: &DownloadedPicture,
    mut names: impl Iterator<Item = PathBuf>,
) -> Result<PathBuf, Error> {
    let mut name = names.next().unwrap_or_default();
    loop {
        let error = match file.save(&name).await {
            Ok(saved) => return Ok(saved.path),
            Err(error) => error,
        };
        name = match names.next() {
            Some(next) if kind_of(&error) == Some(ErrorKind::AlreadyExists) => next,
            _ => return Err(error),
        };
    }
}

fn saved(file: &DownloadedPicture, path: PathBuf, notes: Vec<String>) -> Saved {
    let (path, sha256) = (Some(path), file.sha256.clone());
    Saved { path, kind: file.kind, bytes: file.bytes, sha256, notes, ..Saved::default() }
}

/// Describes a picture that an earlier command has saved.
pub fn found(path: PathBuf) -> Result<Saved, Failure> {
    let content = fs::read(&path)
        .map_err(|error| Failure::file(format!("could not read {}", path.display()), error))?;
    let (kind, bytes) = (FileKind::of(&content), content.len() as u64);
    Ok(Saved { path: Some(path), kind, bytes, ..Saved::default() })
}

fn not_a_target(path: &Path, error: io::Error) -> Failure {
    Failure::file(format!("could not write a picture to {}", path.display()), error)
}

fn kind_of(error: &Error) -> Option<ErrorKind> {
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    source.filter(|_| error.kind() == imagekiln::ErrorKind::File).map(io::Error::kind)
}

/// The failure of a picture that could not be downloaded or saved. The message names the target.
fn unsaved(error: &Error, target: &Path, directory: &Path) -> Failure {
    let mut failure = Failure::from(error);
    let Some(kind) = kind_of(error) else { return failure };
    let id = error.task().map(TaskRef::id).unwrap_or_default();
    failure.message = not_written(id, target);
    failure.advice = None;
    failure.remedied_by(directory::remedy(kind, directory))
}

fn unwritable(picture: &Picture, target: &Path, directory: &Path, error: io::Error) -> Failure {
    let remedy = directory::remedy(error.kind(), directory);
    let message = not_written(picture.task().id(), target);
    Failure::file(message, error).about(picture.task()).remedied_by(remedy)
}

fn not_written(id: &str, target: &Path) -> String {
    format!("could not write {} (task {})", here_if_empty(target).display(), one_line(id))
}

/// A picture whose bytes were written to a stream.
fn passed_on(path: Option<PathBuf>, bytes: u64) -> Saved {
    Saved { path, bytes, ..Saved::default() }
}

/// Writes the picture to a stream on a separate thread, because writing may block, and Ctrl-C must
/// still work.
async fn write_to<W: Write>(
    picture: &Picture,
    what: &str,
    open: impl FnOnce() -> io::Result<W> + Send + 'static,
) -> Result<u64, Failure> {
    let bytes = picture.bytes().await?;
    let length = bytes.len() as u64;
    let written = spawn_blocking(move || {
        let mut out = open()?;
        out.write_all(&bytes)?;
        out.flush()
    });
    written.await.map_err(io::Error::other).flatten().map(|()| length).map_err(|error| {
        let id = one_line(picture.task().id());
        Failure::file(format!("could not write to {what} (task {id})"), error)
            .about(picture.task())
            .remedied_by(Remedy::Elsewhere)
    })
}
