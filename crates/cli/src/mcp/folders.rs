//! The folders that the person has allowed: nothing else is read or written for a model.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use crate::{
    args::inputs::is_image_file,
    failure::Failure,
    files::target::{Place, Target},
    history::{self, Entry, find, numbered},
    process::Process,
    text::one_line,
};
use imagekiln::ImageInput;

/// The allowed folders, with links resolved. Relative paths start at the first one.
pub struct Folders(Vec<PathBuf>);

impl Folders {
    /// Opens the folders with these names, or the working directory if there are none. Refuses the
    /// root and the home directory as working directory: some assistants start their servers there,
    /// and nobody has chosen to allow all of it.
    pub fn of(process: &Process, given: &[PathBuf]) -> Result<Self, Failure> {
        let here = &process.directory;
        let is_chosen = here.parent().is_some() && process.home.as_ref() != Some(here);
        if given.is_empty() && !is_chosen {
            let problem = format!("an assistant may not use all of {}", here.display());
            return Err(Failure::usage(problem).advise("pass --folder"));
        }
        let given = if given.is_empty() { std::slice::from_ref(here) } else { given };
        let folders = given.iter().map(|given| {
            let path = process.directory.join(given);
            let folder = fs::canonicalize(&path).and_then(|path| fs::read_dir(&path).map(|_| path));
            let what = format!("could not read the folder {}", path.display());
            folder.map_err(|error| Failure::file(what, error).advise("correct --folder"))
        });
        Ok(Self(folders.collect::<Result<_, _>>()?))
    }

    pub fn first(&self) -> &Path {
        self.0.first().map_or(Path::new("."), PathBuf::as_path)
    }

    pub fn shown(&self) -> String {
        self.0.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    }

    /// Whether a path is below an allowed folder. The last components of the path may not exist
    /// yet.
    pub fn contain(&self, path: &Path) -> bool {
        if path.components().any(|part| part == Component::ParentDir) {
            return false;
        }
        let real = path.ancestors().find_map(|parent| {
            // Nobody knows where a dangling link leads, so it is refused.
            fs::symlink_metadata(parent).ok()?;
            Some(fs::canonicalize(parent))
        });
        let real = real.and_then(Result::ok);
        real.is_some_and(|real| self.0.iter().any(|folder| real.starts_with(folder)))
    }

    /// Whether the picture of a submission is, or will be, below an allowed folder.
    pub fn have(&self, entry: &Entry) -> bool {
        let output = entry.kept.destination.output();
        let path = entry.saved_path().map(Path::to_owned).or(output);
        path.is_some_and(|path| self.contain(&path))
    }

    /// Returns the submission with a number, such as `@3`, if its picture is below an allowed
    /// folder.
    pub fn picture(&self, process: &Process, number: &str) -> Result<Entry, Failure> {
        let number =
            number.trim().trim_start_matches('@').parse().map_err(|_| {
                Failure::request("number: give the number of a picture, such as @3")
            })?;
        numbered(process, number)?.filter(|entry| self.have(entry)).ok_or_else(|| {
            Failure::request(format!("number: @{number} is not a picture in an allowed folder"))
        })
    }

    /// Returns the newest submissions for which a condition holds and whose pictures are below an
    /// allowed folder.
    pub fn pictures(
        &self,
        process: &Process,
        limit: usize,
        is_wanted: impl Fn(&Entry) -> bool,
    ) -> Result<Vec<Entry>, Failure> {
        let entries = history::read(process)?.flatten();
        Ok(entries.filter(|entry| is_wanted(entry) && self.have(entry)).take(limit).collect())
    }

    fn checked(&self, given: &str, field: &str) -> Result<PathBuf, Failure> {
        let path = self.first().join(given);
        if self.contain(&path) {
            return Ok(path);
        }
        let problem = format!("{field}: {} is outside the allowed folders", one_line(given));
        Err(Failure::request(problem).advise(format!("use a path below {}", self.shown())))
    }

    /// Returns the target of a picture: the given file, which must be new, or a new name in the
    /// first folder.
    pub fn target(&self, file: Option<&str>) -> Result<Target, Failure> {
        let place = match file {
            None => Place::Named(self.first().to_owned()),
            Some(file) => Place::at(&self.checked(file, "file")?),
        };
        if let Place::Special(path) = &place {
            return Err(Failure::request(format!("file: {} is not a file", path.display())));
        }
        let target = Target { place, overwrite: false, mkdir: true, describe: false, title: None };
        target.check_ending()?;
        Ok(target)
    }

    /// Returns the image that a path, or `@` and a number, names.
    pub fn image(
        &self,
        process: &Process,
        given: &str,
        field: &str,
    ) -> Result<ImageInput, Failure> {
        let path = match find::by_number(process, given)? {
            None => self.checked(given, field)?,
            Some(entry) => {
                let saved = entry.saved_path().filter(|path| self.contain(path));
                saved.map(Path::to_owned).ok_or_else(|| {
                    let given = one_line(given);
                    Failure::request(format!("{field}: {given} is not saved in an allowed folder"))
                })?
            }
        };
        if !is_image_file(&path.to_string_lossy()) {
            let problem = format!("{field}: {} is not an image file", one_line(given));
            return Err(Failure::request(problem)
                .advise(format!("relative paths start at {}", self.first().display())));
        }
        Ok(ImageInput::path(path))
    }
}
