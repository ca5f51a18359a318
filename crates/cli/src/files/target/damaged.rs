//! Damaged files: they are kept beside the target of the picture, and the user may accept them as
//! the picture.

use std::{
    fs,
    io::{self, ErrorKind, Write as _},
    path::{Path, PathBuf},
};

use tempfile::PersistError;

use super::{Pattern, Place, Saved, Target, found, names};
use crate::{
    failure::Failure,
    files::directory::{parent, temporary_file},
};
use imagekiln::Damaged;

/// Keeps a damaged file beside the path of its picture, and creates the directory if necessary.
pub fn keep(damaged: &Damaged, picture: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(parent(picture))?;
    damaged.keep(picture)
}

impl Target {
    /// Accepts a damaged file as its picture, and moves it to the picture's name: the one that
    /// `--output` names if `is_given`, or else the one beside which the file was kept.
    pub fn accept(&self, kept: &Path, is_given: bool) -> Result<Saved, Failure> {
        let picture = Damaged::picture_of(kept).unwrap_or_else(|| kept.to_owned());
        let name = picture.file_name().unwrap_or_default();
        let wanted = match &self.place {
            Place::File(path) if is_given => path.clone(),
            Place::Named(directory) if is_given => directory.join(name),
            Place::Pattern(Pattern { directory, .. }) if is_given => directory.join(name),
            _ => picture,
        };
        let failed = |error| Failure::file(format!("could not move {}", kept.display()), error);
        let content = fs::read(kept).map_err(failed)?;
        let mut file = temporary_file(parent(&wanted)).map_err(failed)?;
        file.write_all(&content).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
        let mut names = names::numbered(wanted);
        let path = loop {
            let path = names.next().unwrap_or_default();
            let named =
                if self.overwrite { file.persist(&path) } else { file.persist_noclobber(&path) };
            match named {
                Ok(_) => break path,
                Err(PersistError { error, file: other })
                    if error.kind() == ErrorKind::AlreadyExists =>
                {
                    file = other;
                }
                Err(error) => return Err(failed(error.error)),
            }
        };
        // The picture has its name now, so it does no harm if the old file cannot be removed.
        let _ = fs::remove_file(kept);
        found(path)
    }
}
