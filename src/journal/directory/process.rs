//! The processes that use a journal. Each has a file whose lock the system releases when the
//! process ends, in whatever way.

use std::{
    collections::HashMap,
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
    process,
    sync::Arc,
    thread,
    time::Duration,
};

use super::disk::{Disk, if_present};
use crate::values::{Mutex, file::is_at};

/// How often a process tries the lock of a file, which is five seconds. Whoever has it needs it for
/// some milliseconds, unless it is stopped.
const TRIES: u32 = 1_000;
const BETWEEN_TRIES: Duration = Duration::from_millis(5);

/// One that uses a journal. Two of them may be in one process of the system.
pub(super) struct Process {
    folder: PathBuf,
    name: String,
    lock: Mutex<Option<File>>,
    disk: Arc<dyn Disk>,
}

impl Process {
    pub(super) fn new(folder: PathBuf, disk: Arc<dyn Disk>) -> Self {
        let name = format!("{}-{:08x}", process::id(), fastrand::u32(..));
        Self { folder, name, lock: Mutex::new(None), disk }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Makes sure that others see that the process runs: somebody may have removed its file.
    pub(super) fn show(&self) -> io::Result<()> {
        let mut lock = self.lock.lock();
        let path = path(&self.folder, &self.name);
        if lock.as_ref().is_some_and(|file| is_at(file, &path).unwrap_or(false)) {
            return Ok(());
        }
        // Locked before it has its name, so that nobody ever sees it without a lock.
        let new = path.with_extension("new");
        if_present(self.disk.remove(&new))?;
        let file = self.disk.create(&new)?;
        file.try_lock().map_err(unlockable)?;
        self.disk.rename(&new, &path)?;
        // After a crash of the machine, another process may have the number in the name.
        self.disk.sync_names(&self.folder)?;
        *lock = Some(file);
        Ok(())
    }

    /// Whether a process with this name runs.
    pub(super) fn is_running(&self, name: &str) -> bool {
        name == self.name || is_running(&self.folder, name)
    }

    /// Returns the files of processes that have ended, by the names of the processes.
    pub(super) fn ended(&self) -> io::Result<HashMap<String, PathBuf>> {
        let mut ended = HashMap::new();
        for file in self.folder.read_dir()? {
            let path = file?.path();
            let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
            if !self.is_running(name) {
                ended.insert(name.to_owned(), path);
            }
        }
        Ok(ended)
    }
}

impl Drop for Process {
    /// Closing the file would not release its lock while another thread starts a program: the new
    /// process has the file until it runs that program.
    fn drop(&mut self) {
        if let Some(file) = &*self.lock.lock()
            && let Err(error) = file.unlock()
        {
            tracing::debug!(%error, "could not release the lock of the journal");
        }
    }
}

/// Whether the process with a name runs. Creates nothing.
pub(super) fn is_running(folder: &Path, name: &str) -> bool {
    let path = path(folder, name);
    // Nothing else can be locked, and opening a pipe would wait.
    let file = if path.is_file() { File::open(&path).ok() } else { None };
    match file {
        Some(file) => matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)),
        // Somebody removed the file.
        None => has_process(name),
    }
}

/// Whether the system has a process with the number in a name. `false` where that is not known.
fn has_process(name: &str) -> bool {
    let number = name.split('-').next().unwrap_or_default();
    number.parse::<u32>().is_ok_and(|number| Path::new("/proc").join(number.to_string()).exists())
}

/// The number of the process in a name, for people.
pub(super) fn number(name: &str) -> &str {
    name.split('-').next().unwrap_or(name)
}

fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.lock"))
}

/// Waits for the lock of a file. Fails after some seconds: the process that has it is stopped.
/// `holder` says which one that may be.
pub(super) fn lock(file: &File, holder: impl FnOnce() -> String) -> io::Result<()> {
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => thread::sleep(BETWEEN_TRIES),
            Err(error) => return Err(unlockable(error)),
        }
    }
    let waited = TRIES * BETWEEN_TRIES;
    let message = format!(
        "{} has had its lock for {} s; continue or end that process",
        holder(),
        waited.as_secs()
    );
    Err(io::Error::new(io::ErrorKind::TimedOut, message))
}

fn unlockable(error: TryLockError) -> io::Error {
    match error {
        TryLockError::WouldBlock => io::ErrorKind::WouldBlock.into(),
        TryLockError::Error(error) => {
            let message = format!("the file system does not lock files: {error}");
            io::Error::new(io::ErrorKind::Unsupported, message)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::directory::disk::System;

    #[test]
    fn a_program_that_is_being_started_does_not_keep_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let process = Process::new(folder.path().to_owned(), Arc::new(System));
        process.show().unwrap();
        let name = process.name().to_owned();
        let inherited = process.lock.lock().as_ref().unwrap().try_clone().unwrap();
        assert!(is_running(folder.path(), &name));
        drop(process);
        assert!(!is_running(folder.path(), &name));
        drop(inherited);
    }
}
