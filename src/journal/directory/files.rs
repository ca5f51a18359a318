//! Creates and changes the files of a journal. Everything that is known about a submission is in
//! one file, so a damaged or lost file affects one record at most.

use std::{
    collections::HashMap,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{
    disk::{Disk, create_durable, if_present},
    list::{
        CLOSED, Found, List, OPEN, PROCESSES, Places, Read, SHARD, closed_path, highest, holder,
        names, open_path, shards,
    },
    process::{self, Process},
    text,
};
use crate::{
    TaskRef,
    journal::{Intent, Record, Step},
    values::Mutex,
};

/// The directory for files with bytes that the journal cannot parse. Such a file may name a paid
/// task, so the journal keeps it for a person to inspect.
const DAMAGED: &str = "damaged";

/// The prefix of the names of files that are being written.
pub(super) const NEW: &str = "new-";

/// The file that a process locks while it records a task that a person found.
const ADOPTING: &str = "adopting.lock";

/// The files of a directory, and the process that uses them. Its methods block.
pub(super) struct Files {
    pub(super) folder: PathBuf,
    pub(super) disk: Arc<dyn Disk>,
    pub(super) process: Process,
    /// The highest number of a record that this process knows of.
    last: AtomicU64,
    /// The numbers of open records by the ids of their submissions.
    pub(super) numbers: Mutex<HashMap<String, u64>>,
}

/// A record whose file this process has locked.
pub(super) struct Locked {
    pub(super) file: File,
    pub(super) places: Places,
}

impl Files {
    pub(super) fn open(folder: &Path, disk: Arc<dyn Disk>) -> io::Result<Self> {
        for name in [OPEN, CLOSED, PROCESSES] {
            create_durable(&*disk, &folder.join(name))?;
        }
        let folder = fs::canonicalize(folder)?;
        let process = Process::new(folder.join(PROCESSES), Arc::clone(&disk));
        let last = AtomicU64::new(highest(&folder)?);
        Ok(Self { folder, disk, process, last, numbers: Mutex::default() })
    }

    pub(super) fn list(&self) -> io::Result<List> {
        List::new(&self.folder, Arc::clone(&self.disk))
    }

    /// Writes the record of a submission, including the space for its acceptance, and returns the
    /// number of the record. On a full disk, this fails before the client sends anything that is
    /// billed.
    pub(super) fn intend(&self, intent: Intent) -> io::Result<u64> {
        self.process.show()?;
        let id = intent.id().to_owned();
        let text = text::write(&Record::new(intent), Some(&self.process.name))?;
        let open = self.folder.join(OPEN);
        let number = self.with_new(&open, &text, |new| self.number(new))?;
        self.disk.sync_names(&open).inspect_err(|_| {
            // After this error, the client sends nothing, so the submission needs no record.
            let _ = self.disk.remove(&open_path(&self.folder, number));
        })?;
        self.numbers.lock().insert(id, number);
        Ok(number)
    }

    /// Gives a new file the next free number. Other processes may be doing the same: only one of
    /// them can create the name of a number, and the others try the next one.
    fn number(&self, new: &Path) -> io::Result<u64> {
        loop {
            let number = self.last.fetch_add(1, Ordering::Relaxed).saturating_add(1);
            let path = open_path(&self.folder, number);
            match self.disk.link(new, &path) {
                // Another process may have used this number before, and closed its record.
                Ok(()) if closed_path(&self.folder, number).exists() => self.disk.remove(&path)?,
                Ok(()) => return Ok(number),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
            self.last.fetch_max(highest(&self.folder)?, Ordering::Relaxed);
        }
    }

    /// Writes a file under a temporary name, and then lets `place` give the file its final name. A
    /// file with a final name is therefore complete and flushed to disk.
    pub(super) fn with_new<T>(
        &self,
        folder: &Path,
        text: &[u8],
        place: impl FnOnce(&Path) -> io::Result<T>,
    ) -> io::Result<T> {
        let path = folder.join(format!("{NEW}{}-{:08x}", self.process.name, fastrand::u32(..)));
        let file = self.disk.create(&path)?;
        let written = self
            .disk
            .write(&file, &path, 0, text)
            .and_then(|()| self.disk.sync(&file, &path))
            .and_then(|()| place(&path));
        // An error is harmless: no file with a temporary name is ever read as a record.
        let _ = if_present(self.disk.remove(&path));
        written
    }

    /// Applies a step to the record of a submission. If there is no record, this does nothing,
    /// except that an acceptance fails.
    pub(super) fn advance(&self, submission: &str, step: &Step) -> io::Result<()> {
        let known = self.numbers.lock().get(submission).copied();
        let number = match known {
            Some(number) => Some(number),
            None => self.find(submission)?,
        };
        let changed = match number {
            Some(number) => self.change(number, submission, step)?,
            None => None,
        };
        match (changed, step) {
            (Some(record), _) => {
                if record.state().is_closed() {
                    self.numbers.lock().remove(submission);
                }
                Ok(())
            }
            // Without a record, the paid task would be lost, so the caller has to report it.
            (None, Step::Accepted(_)) => {
                let message = "the journal does not contain the submission";
                Err(io::Error::new(io::ErrorKind::NotFound, message))
            }
            (None, _) => Ok(()),
        }
    }

    /// Assigns a task to a submission. Returns `false` if another submission already has the task.
    pub(super) fn adopt(&self, submission: &Intent, task: TaskRef) -> io::Result<bool> {
        // Only one process at a time may do this. Two processes that assign the same task at once
        // could each miss the other's record, and one paid picture would count for two submissions.
        let path = self.folder.join(ADOPTING);
        let _locked = loop {
            let file = match self.disk.create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    self.disk.open(&path)?
                }
                created => created?,
            };
            if process::lock(&file, &path, || "another process".to_owned())? {
                break file;
            }
        };
        for found in self.list()? {
            if found.is_ok_and(|listed| listed.record.is_other_with(submission, &task)) {
                return Ok(false);
            }
        }
        self.advance(submission.id(), &Step::Accepted(task)).map(|()| true)
    }

    /// Searches all records for a submission that is not in `numbers`, and returns its number.
    fn find(&self, submission: &str) -> io::Result<Option<u64>> {
        let mut listed = self.list()?;
        let is_it = |found: Found| {
            let listed = found.ok()?;
            (listed.record.intent().id() == submission).then_some(listed.number)
        };
        Ok(listed.find_map(is_it))
    }

    /// Applies a step to a record, and returns the record. `None` if the record is gone, or if it
    /// is that of another submission.
    fn change(&self, number: u64, submission: &str, step: &Step) -> io::Result<Option<Record>> {
        let Some(locked) = self.lock(number)? else { return Ok(None) };
        let Some(mut record) = locked.places.record() else {
            let unreadable = locked.places.unreadable(&self.folder, number);
            let reason = unreadable.map(|unreadable| unreadable.to_string()).unwrap_or_default();
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        };
        if record.intent().id() != submission {
            return Ok(None);
        }
        // Other processes must see that this process is running, even if somebody has removed its
        // lock file. Otherwise they would take over its records.
        let _ = self.owner();
        if record.advance(step) {
            self.write(number, &locked, &record)?;
        }
        Ok(Some(record))
    }

    /// Writes a record to `open` or to `closed`, depending on its state. If the record stays open
    /// and its file has the space, the change is written in place, which also works on a full disk.
    pub(super) fn write(&self, number: u64, locked: &Locked, record: &Record) -> io::Result<()> {
        let (open, closed) = (open_path(&self.folder, number), closed_path(&self.folder, number));
        let Locked { file, places } = locked;
        if record.state().is_closed() {
            let written = self.replace(&closed, places.closed.as_ref(), record);
            return match (written, &places.open) {
                (Ok(()), None) => Ok(()),
                (Ok(()), Some(content)) => {
                    self.keep_damaged(&open, content)?;
                    if_present(self.disk.remove(&open)).map(drop)
                }
                // The disk may be full. Writing in place needs no new space, so the closed record
                // stays in `open` until a later process moves it.
                (Err(error), Some(Ok(content))) => match content.change(record)? {
                    Some(change) => self.write_at(file, &open, change),
                    None => Err(error),
                },
                (Err(error), _) => Err(error),
            };
        }
        if let Some(Ok(content)) = &places.open
            && places.closed.is_none()
            && let Some(change) = content.change(record)?
        {
            return self.write_at(file, &open, change);
        }
        self.replace(&open, places.open.as_ref(), record)?;
        if let Some(content) = &places.closed {
            self.keep_damaged(&closed, content)?;
            if_present(self.disk.remove(&closed))?;
        }
        Ok(())
    }

    pub(super) fn write_at(
        &self,
        file: &File,
        path: &Path,
        (at, line): (u64, Vec<u8>),
    ) -> io::Result<()> {
        self.disk.write(file, path, at, &line)?;
        self.disk.sync(file, path)
    }

    /// Writes the whole file of a record, and replaces the file at `path`. `there` is what that
    /// file contains, if it exists.
    pub(super) fn replace(
        &self,
        path: &Path,
        there: Option<&Read>,
        record: &Record,
    ) -> io::Result<()> {
        let folder = path.parent().unwrap_or(path);
        create_durable(&*self.disk, folder)?;
        let text = text::write(record, self.owner())?;
        self.with_new(folder, &text, |new| {
            if let Some(content) = there {
                self.keep_damaged(path, content)?;
            }
            self.disk.rename(new, path)
        })?;
        self.disk.sync_names(folder)
    }

    /// If a file contains bytes that the journal cannot parse, gives the file a second name before
    /// the caller replaces or removes it, because the bytes may name a paid task.
    fn keep_damaged(&self, path: &Path, content: &Read) -> io::Result<()> {
        if content.as_ref().is_ok_and(|content| !content.is_damaged) {
            return Ok(());
        }
        let folder = self.folder.join(DAMAGED);
        create_durable(&*self.disk, &folder)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let kept = folder.join(format!("{name}-{:08x}.json", fastrand::u32(..)));
        tracing::warn!(path = %kept.display(), "kept a damaged file of the journal");
        self.disk.link(path, &kept)?;
        self.disk.sync_names(&folder)
    }

    /// Locks the file of a record, and then reads it. `None` if the record is gone.
    pub(super) fn lock(&self, number: u64) -> io::Result<Option<Locked>> {
        let paths = [open_path(&self.folder, number), closed_path(&self.folder, number)];
        loop {
            let read = || Places::read(&*self.disk, &self.folder, number);
            let open = paths.iter().find_map(|path| {
                if_present(self.disk.open(path))
                    .transpose()
                    .map(|file| file.map(|file| (path, file)))
            });
            let Some((path, file)) = open.transpose()? else { return Ok(None) };
            if process::lock(&file, path, || holder(read()))? {
                return Ok(Some(Locked { file, places: read()? }));
            }
        }
    }

    /// Returns the name of this process. `None` if other processes cannot see that it is running,
    /// because a record with this owner would look abandoned.
    pub(super) fn owner(&self) -> Option<&str> {
        match self.process.show() {
            Ok(()) => Some(&self.process.name),
            Err(error) => {
                tracing::warn!(%error, "could not show others that this process uses the journal");
                None
            }
        }
    }

    /// Removes directories of closed records that are older than the newest `keep` records.
    pub(super) fn forget_closed(&self, keep: u64) -> io::Result<()> {
        let oldest = highest(&self.folder)?.saturating_sub(keep) / SHARD;
        for shard in shards(&self.folder)?.into_iter().filter(|shard| *shard < oldest) {
            let folder = self.folder.join(CLOSED).join(shard.to_string());
            for name in names(&folder)? {
                if_present(self.disk.remove(&folder.join(name)))?;
            }
            if_present(fs::remove_dir(&folder))?;
        }
        Ok(())
    }
}
