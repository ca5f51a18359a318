//! A complete picture under a temporary name, until it takes its own.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use tempfile::{PathPersistError, TempPath};

use crate::files::directory::here_if_empty;
use imagekiln::{Error, FileKind, Picture, SaveOptions};

/// A picture in the directory in which it belongs. Dropping it deletes the file.
pub struct Staged {
    file: TempPath,
    pub kind: Option<FileKind>,
    pub bytes: u64,
    pub sha256: Option<String>,
}

impl Staged {
    /// Downloads the picture to a file that [`temporary`] named.
    pub async fn download(picture: &Picture, file: TempPath) -> Result<Self, Error> {
        // The record stays open until the file has its own name.
        let options = SaveOptions::default().closes_record(false).sha256(true);
        let saved = picture.save_with(&file, options).await?;
        Ok(Self { file, kind: saved.kind, bytes: saved.bytes, sha256: saved.sha256 })
    }

    /// Takes the first of the names that is free. Two processes never take the same name.
    pub fn take_name(self, mut names: impl Iterator<Item = PathBuf>) -> io::Result<PathBuf> {
        let mut file = self.file;
        loop {
            let name = names.next().ok_or(io::ErrorKind::AlreadyExists)?;
            file = match file.persist_noclobber(&name) {
                Ok(()) => return flushed(name),
                Err(PathPersistError { error, path }) if is_taken(&error) => path,
                // A file system may have neither hard links nor a rename that replaces nothing.
                Err(PathPersistError { error, path }) => match reserve(&name) {
                    Ok(()) => {
                        path.persist(&name).map_err(|failed| failed.error)?;
                        return flushed(name);
                    }
                    Err(reserved) if is_taken(&reserved) => path,
                    Err(_) => return Err(error),
                },
            };
        }
    }

    /// Replaces a file, which keeps its permissions.
    pub fn replace(self, path: PathBuf) -> io::Result<PathBuf> {
        if let Ok(metadata) = fs::metadata(&path) {
            fs::set_permissions(&self.file, metadata.permissions())?;
        }
        self.file.persist(&path).map_err(|failed| failed.error)?;
        flushed(path)
    }
}

/// A name in the directory. A file there is deleted if this value is dropped, even if the download
/// is interrupted just after its end.
pub fn temporary(directory: &Path) -> io::Result<TempPath> {
    TempPath::try_from_path(directory.join(format!(".kiln-{:016x}.part", fastrand::u64(..))))
}

fn reserve(name: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(name).map(drop)
}

fn is_taken(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AlreadyExists
}

/// Makes the name durable. The directory may be writable and not readable.
fn flushed(name: PathBuf) -> io::Result<PathBuf> {
    if cfg!(unix)
        && let Some(directory) = name.parent()
        && let Ok(directory) = File::open(here_if_empty(directory))
    {
        directory.sync_all()?;
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{super::names::numbered, *};

    fn staged(directory: &Path, at: usize) -> Staged {
        let path = directory.join(format!(".{at}"));
        fs::write(&path, at.to_string()).unwrap();
        let file = TempPath::try_from_path(path).unwrap();
        Staged { file, kind: None, bytes: 0, sha256: None }
    }

    #[test]
    fn pictures_at_the_same_time_take_different_names() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let take = |at| {
            let names = numbered(directory.join("fox.png"));
            staged(directory, at).take_name(names).unwrap()
        };
        let names: HashSet<PathBuf> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16).map(|at| scope.spawn(move || take(at))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(names.len(), 16);
        assert!(names.contains(&directory.join("fox.png")));
        assert!(names.contains(&directory.join("fox-16.png")));
        let contents: HashSet<_> = names.iter().map(|name| fs::read(name).unwrap()).collect();
        assert_eq!((contents.len(), fs::read_dir(directory).unwrap().count()), (16, 16));
    }

    #[test]
    fn a_picture_without_a_free_name_is_deleted() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("fox.png"), "old").unwrap();
        let names = [directory.path().join("fox.png")];
        staged(directory.path(), 1).take_name(names.into_iter()).unwrap_err();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        assert_eq!(fs::read(directory.path().join("fox.png")).unwrap(), b"old");
    }
}
