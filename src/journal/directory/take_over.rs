//! Takes over the open records of processes that have ended.

use std::{io, path::PathBuf};

use super::{
    disk::if_present,
    files::{Files, NEW},
    list::{Found, Listed, OPEN, load, names, numbers, open_path},
};
use crate::journal::{Record, Step};

impl Files {
    /// Returns the open records of this process and of processes that have ended, oldest first.
    /// This process becomes the owner of the records for which `continues` returns `true`.
    pub(super) fn take_over(&self, continues: &dyn Fn(&Record) -> bool) -> io::Result<Vec<Found>> {
        // The ended processes are listed before the loop. A process that ends during the loop may
        // own a record that the loop has already passed, so its lock file must stay.
        let mut ended = self.process.ended()?;
        let mut found = Vec::new();
        for number in numbers(&self.folder.join(OPEN))? {
            match load(&self.folder, &*self.disk, number)? {
                Some(Ok((record, _))) if record.state().is_closed() => {
                    // A closed record is still in `open`, because the disk was full, or because a
                    // process was killed before it could remove the file.
                    self.finish(number);
                }
                Some(Ok((record, owner))) => {
                    owner.as_ref().map(|owner| ended.remove(owner));
                    let use_of = self.use_of(number, owner.as_deref(), continues(&record));
                    let Some(is_in_use) = use_of else { continue };
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

    /// Returns `Some(true)` if this process owns the record from now on, `Some(false)` if no
    /// running process owns the record, and `None` if another running process does.
    fn use_of(&self, number: u64, owner: Option<&str>, continues: bool) -> Option<bool> {
        let is_own = owner == Some(&*self.process.name);
        if !is_own && continues {
            return self.is_ours(number, owner).then_some(true);
        }
        let is_left = is_own || !owner.is_some_and(|owner| self.process.is_running(owner));
        is_left.then_some(is_own)
    }

    /// Makes this process the owner of an open record, unless another running process owns it.
    /// Returns whether this process owns the record.
    pub(super) fn claim(&self, number: u64) -> io::Result<bool> {
        let loaded = load(&self.folder, &*self.disk, number)?;
        let Some(Ok((record, owner))) = loaded else { return Ok(false) };
        self.numbers.lock().insert(record.intent().id().to_owned(), number);
        Ok(!record.state().is_closed() && self.is_ours(number, owner.as_deref()))
    }

    /// Moves a closed record from `open` to `closed`. Errors are only logged, because a later
    /// process tries again.
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

    /// Returns whether this process owns a record with this owner. If the owner has ended, this
    /// process becomes the owner.
    fn is_ours(&self, number: u64, owner: Option<&str>) -> bool {
        match owner {
            Some(owner) if owner == self.process.name => true,
            Some(owner) if self.process.is_running(owner) => false,
            owner => self.become_owner(number, owner).unwrap_or_else(|error| {
                tracing::warn!(%error, number, "could not claim a record of the journal");
                true
            }),
        }
    }

    /// Makes this process the owner of a record. Returns `false` if another process was faster, or
    /// if the record is no longer open.
    fn become_owner(&self, number: u64, before: Option<&str>) -> io::Result<bool> {
        // The disk may be full. This process then works on the record without owning it. Another
        // process may do so, too, but both only poll the same task, which costs nothing.
        let Some(owner) = self.owner() else { return Ok(true) };
        let Some(locked) = self.lock(number)? else { return Ok(false) };
        let Some(Ok(content)) = &locked.places.open else { return Ok(false) };
        let record = locked.places.record().filter(|record| !record.state().is_closed());
        let Some(record) = record.filter(|_| content.owner.as_deref() == before) else {
            return Ok(false);
        };
        let path = open_path(&self.folder, number);
        match content.claim(owner)? {
            Some(claim) => self.write_at(&locked.file, &path, claim)?,
            None => self.replace(&path, locked.places.open.as_ref(), &record)?,
        }
        Ok(true)
    }

    /// Removes the unfinished files of processes that have ended, and the given lock files of
    /// processes that own no open record.
    fn sweep(&self, locks: impl Iterator<Item = PathBuf>) -> io::Result<()> {
        let folder = self.folder.join(OPEN);
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
