//! Finds out which processes that use a journal are still running. Each process holds the lock of a
//! file of its own, and the operating system releases the lock however the process ends.

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

/// How often a process tries to lock a file, and the pause between two tries: five seconds in all.
/// Another process normally holds such a lock for a few milliseconds. If it holds the lock for
/// longer, it is probably suspended.
const TRIES: u32 = 1_000;
const BETWEEN_TRIES: Duration = Duration::from_millis(5);

/// A user of a journal. One process of the operating system may contain several.
pub(super) struct Process {
    folder: PathBuf,
    pub(super) name: String,
    lock: Mutex<Option<File>>,
    disk: Arc<dyn Disk>,
}

impl Process {
    pub(super) fn new(folder: PathBuf, disk: Arc<dyn Disk>) -> Self {
        let name = format!("{}-{:08x}", process::id(), fastrand::u32(..));
        Self { folder, name, lock: Mutex::new(None), disk }
    }

    /// Makes sure that other processes can see that this process is running. Creates and locks its
    /// file if the file does not exist yet, or if somebody has removed it.
    pub(super) fn show(&self) -> io::Result<()> {
        let mut lock = self.lock.lock();
        let path = path(&self.folder, &self.name);
        if lock.as_ref().is_some_and(|file| is_at(file, &path)) {
            return Ok(());
        }
        // The file is locked before it gets its final name. If another process saw the file
        // unlocked, it would take over the records of this process.
        let new = path.with_extension("new");
        if_present(self.disk.remove(&new))?;
        let file = self.disk.create(&new)?;
        file.try_lock().map_err(unlockable)?;
        self.disk.rename(&new, &path)?;
        // The name must survive a crash of the machine. If the file were missing afterwards,
        // `is_running` would look for the process number, which another program may have by then.
        self.disk.sync_names(&self.folder)?;
        *lock = Some(file);
        Ok(())
    }

    /// Returns whether the process with this name is running.
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
    /// Releases the lock explicitly. Closing the file is not enough while another thread starts a
    /// program: until it runs that program, the new process has a copy of the open file, which
    /// keeps the lock.
    fn drop(&mut self) {
        if let Some(file) = &*self.lock.lock()
            && let Err(error) = file.unlock()
        {
            tracing::debug!(%error, "could not release the lock of the journal");
        }
    }
}

/// Returns whether the process with this name is running. Creates no file.
pub(super) fn is_running(folder: &Path, name: &str) -> bool {
    let path = path(folder, name);
    // Only a regular file can be locked, and opening a pipe would wait for its other end.
    let file = if path.is_file() { File::open(&path).ok() } else { None };
    match file {
        Some(file) => matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)),
        // Somebody has removed the file, which leaves only the process number in the name.
        None => has_process(name),
    }
}

/// Returns whether the operating system has a process with the number in a name. Returns `false` on
/// systems without `/proc`.
fn has_process(name: &str) -> bool {
    let number = number(name).parse::<u32>();
    number.is_ok_and(|number| Path::new("/proc").join(number.to_string()).exists())
}

/// Returns the process number in a name.
pub(super) fn number(name: &str) -> &str {
    name.split('-').next().unwrap_or(name)
}

fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.lock"))
}

/// Waits for the lock of a file. Returns `false` if the process that held the lock before has
/// removed or replaced the file at `path`, so that the caller has to open it again. Fails after
/// five seconds, because the process that holds the lock is probably suspended. `holder` names that
/// process for the error message.
pub(super) fn lock(file: &File, path: &Path, holder: impl FnOnce() -> String) -> io::Result<bool> {
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(is_at(file, path)),
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
        let name = process.name.clone();
        let inherited = process.lock.lock().as_ref().unwrap().try_clone().unwrap();
        assert!(is_running(folder.path(), &name));
        drop(process);
        assert!(!is_running(folder.path(), &name));
        drop(inherited);
    }
}
