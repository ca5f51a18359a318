//! The stored key of a profile, in a file that only its user can read.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use crate::{failure::Failure, files::directory::create_private};

/// The key of a profile.
pub struct Stored {
    file: PathBuf,
}

impl Stored {
    /// The key of a profile in the directory of the settings.
    pub fn of(directory: &Path, profile: &str) -> Self {
        Self { file: directory.join("keys").join(format!("{profile}.key")) }
    }

    /// The file with the key, which may not exist.
    pub fn file(&self) -> &Path {
        &self.file
    }

    pub fn exists(&self) -> bool {
        self.file.exists()
    }

    pub fn put(&self, key: &str) -> Result<(), Failure> {
        write(&self.file, &format!("{key}\n")).map_err(|error| {
            Failure::file(format!("could not store the API key in {}", self.file.display()), error)
        })
    }

    /// Deletes the key. Returns whether there was one.
    pub fn delete(&self) -> Result<bool, Failure> {
        remove(&self.file).map_err(|error| {
            Failure::file(format!("could not delete {}", self.file.display()), error)
                .advise("delete the file yourself")
        })
    }
}

/// Writes a file that only this user can read. One that existed before is replaced.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    create_private(directory)?;
    // A temporary file has the mode 0600 from its creation.
    let mut file = NamedTempFile::new_in(directory)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Deletes a file. Returns whether there was one.
fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
