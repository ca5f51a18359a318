//! The open records of processes that have ended, which another process continues.

use std::{io, path::PathBuf};

use super::{
    disk::if_present,
    files::{Files, NEW},
    list::{Found, Listed, Loaded, OPEN, load, names, numbers, open_path},
};
use crate::journal::{Record, Step};

impl Files {
    /// Returns the open records of this process, oldest first, and of those that have ended. This
    /// process works on them from now on, if it continues them.
    pub(super) fn take_over(&self, continues: &dyn Fn(&Record) -> bool) -> io::Result<Vec<Found>> {
        // Before the records are read: a process that ends later may own one that was read before.
        let mut ended = self.process.ended()?;
        let mut found = Vec::new();
        for number in numbers(&self.folder().join(OPEN))? {
            match load(self.folder(), &*self.disk, number)? {
                Some(Ok(loaded)) if loaded.record.state().is_closed() => {
                    // The disk was full, or a process was killed before it could remove the file.
                    self.finish(number);
                }
                Some(Ok(loaded)) => {
                    loaded.owner.as_ref().map(|owner| ended.remove(owner));
                    let Some(is_in_use) = self.use_of(number, &loaded, continues) else { continue };
                    let Loaded { record, .. } = loaded;
                    let id = record.intent().id().to_owned();
                    if is_in_use && self.has_lost_key(&record) {
                        match self.advance(&id, &Step::NotBilled) {
                            Ok(()) => continue,
                            Err(error) => tracing::debug!(%error, "could not close a record"),
                        }
                    }
                    self.numbers.lock().insert(id, number);
                    found.push(Ok(Listed { number, record, is_in_use }));
                }
                Some(Err(unreadable)) => found.push(Err(unreadable)),
                None => {}
            }
        }
        if let Err(error) = self.sweep(ended.into_values()) {
            tracing::debug!(%error, "could not remove files of processes that have ended");
        }
        Ok(found)
    }

    /// Returns `Some(true)` if this process works on a record from now on, `Some(false)` if nobody
    /// does, and `None` if another one does.
    fn use_of(
        &self,
        number: u64,
        loaded: &Loaded,
        continues: &dyn Fn(&Record) -> bool,
    ) -> Option<bool> {
        let owner = loaded.owner.as_deref();
        let is_own = owner == Some(self.process.name());
        if !is_own && continues(&loaded.record) {
            return self.is_ours(number, loaded).then_some(true);
        }
        let is_left = is_own || !owner.is_some_and(|owner| self.process.is_running(owner));
        is_left.then_some(is_own)
    }

    /// Works on an open record, unless a process does that runs. Returns whether it is ours.
    pub(super) fn claim(&self, number: u64) -> io::Result<bool> {
        let Some(Ok(loaded)) = load(self.folder(), &*self.disk, number)? else { return Ok(false) };
        self.numbers.lock().insert(loaded.record.intent().id().to_owned(), number);
        Ok(!loaded.record.state().is_closed() && self.is_ours(number, &loaded))
    }

    /// Moves a closed record to where it belongs.
    fn finish(&self, number: u64) {
        let finished = self.lock(number).and_then(|locked| match locked {
            Some(locked) => match locked.places.record() {
                Some(record) if record.state().is_closed() => self.write(number, &locked, &record),
                _ => Ok(()),
            },
            None => Ok(()),
        });
        if let Err(error) = finished {
            tracing::debug!(%error, number, "could not move a closed record of the journal");
        }
    }

    /// Whether this process works on a record. It takes one whose process has ended.
    fn is_ours(&self, number: u64, loaded: &Loaded) -> bool {
        match &loaded.owner {
            Some(owner) if owner == self.process.name() => true,
            Some(owner) if self.process.is_running(owner) => false,
            owner => self.become_owner(number, owner.as_deref()).unwrap_or_else(|error| {
                tracing::warn!(%error, number, "could not claim a record of the journal");
                true
            }),
        }
    }

    /// Makes this process the owner of a record. Returns `false` if another one was faster.
    fn become_owner(&self, number: u64, before: Option<&str>) -> io::Result<bool> {
        // The disk may be full. Then others may continue the same tasks, which costs nothing.
        let Some(owner) = self.owner() else { return Ok(true) };
        let Some(locked) = self.lock(number)? else { return Ok(false) };
        let Some(Ok(content)) = &locked.places.open else { return Ok(false) };
        let record = locked.places.record().filter(|record| !record.state().is_closed());
        let Some(record) = record.filter(|_| content.owner.as_deref() == before) else {
            return Ok(false);
        };
        let path = open_path(self.folder(), number);
        match content.claim(owner)? {
            Some(claim) => self.write_at(&locked.file, &path, claim)?,
            None => self.replace(&path, locked.places.open.as_ref(), &record)?,
        }
        Ok(true)
    }

    /// Removes what processes have left that have ended, and own no open record.
    fn sweep(&self, locks: impl Iterator<Item = PathBuf>) -> io::Result<()> {
        let folder = self.folder().join(OPEN);
        for name in names(&folder)? {
            let writer = name.strip_prefix(NEW).and_then(|rest| rest.rsplit_once('-'));
            if writer.is_some_and(|(writer, _)| !self.process.is_running(writer)) {
                if_present(self.disk.remove(&folder.join(name)))?;
            }
        }
        for lock in locks {
            if_present(self.disk.remove(&lock))?;
        }
        Ok(())
    }
}
