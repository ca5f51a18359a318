//! The stored key of a profile: a file with the key, or an empty file that marks that it is in the
//! keyring. Commands use the keyring only with this mark, so servers and containers never wait for
//! one.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use super::profile::DEFAULT;
use crate::{
    failure::Failure,
    files::directory::create_private,
    keyring::{Keyring, Problem, label},
    output::Output,
};

/// The key of a profile. If both files exist, because a login was killed, the keyring has the key.
pub struct Stored {
    profile: String,
    file: PathBuf,
    marker: PathBuf,
}

impl Stored {
    /// The state of a profile in the directory of the settings.
    pub fn of(directory: &Path, profile: &str) -> Self {
        let path = |extension| directory.join("keys").join(format!("{profile}.{extension}"));
        Self { profile: profile.to_owned(), file: path("key"), marker: path("keyring") }
    }

    pub fn profile(&self) -> &str {
        &self.profile
    }

    /// The file with the key, which may not exist.
    pub fn file(&self) -> &Path {
        &self.file
    }

    pub fn is_in_keyring(&self) -> bool {
        self.marker.exists()
    }

    pub fn exists(&self) -> bool {
        self.is_in_keyring() || self.file.exists()
    }

    /// Reads the key from the keyring.
    pub async fn read_keyring(&self, output: &Output) -> Result<String, Failure> {
        let read = async { Keyring::open().await?.get(&self.profile, output).await };
        read.await.map_err(|problem| {
            self.failure("read", &problem).advise(problem.advice(&self.login_command()))
        })
    }

    /// Stores the key in an unlocked keyring, and deletes the file. If the keyring refuses it,
    /// nothing has changed; if something else fails, the entry is deleted again.
    pub async fn put_in_keyring(
        &self,
        keyring: &Keyring,
        key: &str,
        output: &Output,
    ) -> Result<Result<(), Problem>, Failure> {
        let was_in_keyring = self.is_in_keyring();
        if let Err(problem) = keyring.put(&self.profile, key).await {
            return Ok(Err(problem));
        }
        let stored = match write(&self.marker, "") {
            Ok(()) => remove(&self.file).map_err(|error| (&self.file, "delete", error)),
            Err(error) => Err((&self.marker, "write", error)),
        };
        let Err((path, verb, error)) = stored else { return Ok(Ok(())) };
        let failure = Failure::file(format!("could not {verb} {}", path.display()), error);
        // The marker was there before, so the key in effect is the new one.
        if was_in_keyring {
            return Err(failure.advise("the keyring has the key; delete the file yourself"));
        }
        let undone = match remove(&self.marker) {
            Ok(_) => keyring.delete(&self.profile, output).await.is_ok(),
            Err(_) => false,
        };
        let advice = if undone {
            "nothing was stored; change the permissions or the owner, and try again"
        } else {
            "the keyring has the key, too; run `kiln logout` to delete both"
        };
        Err(failure.advise(advice))
    }

    /// Stores the key in the file, and forgets that a keyring had it. Returns whether it had.
    pub fn put_in_file(&self, key: &str) -> Result<bool, Failure> {
        write(&self.file, &format!("{key}\n")).map_err(|error| {
            Failure::file(format!("could not store the API key in {}", self.file.display()), error)
        })?;
        remove(&self.marker).map_err(|error| {
            // Without this, the next command would use the keyring's key, and the file had none.
            let _ = fs::remove_file(&self.file);
            Failure::file(format!("could not delete {}", self.marker.display()), error)
                .advise("nothing was stored; delete the file yourself, and try again")
        })
    }

    /// Deletes the key from the keyring and the file. Returns whether there was one.
    pub async fn delete(&self, output: &Output) -> Result<bool, Failure> {
        let failed = |path: &Path, error| {
            Failure::file(format!("could not delete {}", path.display()), error)
                .advise("delete the file yourself")
        };
        if self.is_in_keyring() {
            self.delete_entry(output).await.map_err(|problem| {
                self.failure("delete", &problem).advise(format!(
                    "nothing was deleted; unlock or start the keyring and try again with a kiln \
                     that can use it, or delete `{}` there and then {}",
                    label(&self.profile),
                    self.marker.display()
                ))
            })?;
        }
        let had_marker = remove(&self.marker).map_err(|error| failed(&self.marker, error))?;
        let had_file = remove(&self.file).map_err(|error| failed(&self.file, error))?;
        Ok(had_marker || had_file)
    }

    /// Deletes the key from the keyring.
    pub async fn delete_entry(&self, output: &Output) -> Result<(), Problem> {
        Keyring::open().await?.delete(&self.profile, output).await
    }

    fn failure(&self, verb: &str, problem: &Problem) -> Failure {
        Failure::settings(format!(
            "could not {verb} the API key of profile `{}` from the keyring: {problem}",
            self.profile
        ))
    }

    /// The command that stores the key again.
    fn login_command(&self) -> String {
        if self.profile == DEFAULT {
            "kiln login".to_owned()
        } else {
            format!("kiln login --profile {}", self.profile)
        }
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
