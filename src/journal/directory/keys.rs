//! The idempotency keys of a journal. The file `keys/DIGEST-1.json` names the submission that is
//! the first attempt of a key.

use std::{
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{
    disk::{create_durable, if_present},
    files::Files,
    list::{Listed, OPEN, numbers, open_path},
    process, text,
};
use crate::{
    journal::{Intent, Key, Keyed, Record, State, Step},
    values::hash::short_hash,
};

const KEYS: &str = "keys";

/// The content of the file of a key.
#[derive(Serialize, Deserialize)]
struct Owner {
    key: Key,
    number: u64,
    submission: String,
}

impl Files {
    /// Writes the record of a submission with a key, and returns `None`. If the key already has a
    /// submission that may be billed, leaves no new record, and returns the record of that
    /// submission.
    pub(super) fn intend_once(&self, intent: Intent, key: &Key) -> io::Result<Option<Keyed>> {
        let folder = self.folder.join(KEYS);
        create_durable(&*self.disk, &folder)?;
        if let Some(known) = self.of_key(key)?.filter(Keyed::may_be_billed) {
            return Ok(Some(known));
        }
        let submission = intent.id().to_owned();
        let number = self.intend(intent)?;
        let owner = Owner { key: key.clone(), number, submission };
        let taken = self.take(&folder, &owner);
        // Unless this submission has got the key, the client does not send it, so its record must
        // not stay open. If that cannot be written either, the record stays open as `Unknown`, and
        // a person has to decide about it.
        match &taken {
            Ok(None) => {}
            Ok(Some(_)) => drop(self.disk.remove(&open_path(&self.folder, number))),
            // The file of the key may already name this record, so the record is closed and not
            // removed: a key without its record could never be used again.
            Err(_) => drop(self.advance(&owner.submission, &Step::NotBilled)),
        }
        taken
    }

    /// Makes a submission the owner of its key, and returns `None`. If another process was faster,
    /// returns the record of that process.
    fn take(&self, folder: &Path, owner: &Owner) -> io::Result<Option<Keyed>> {
        let path = path(folder, &owner.key);
        let text = text::write_one(owner)?;
        loop {
            let linked = self.with_new(folder, &text, |new| self.disk.link(new, &path));
            match linked {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                linked => {
                    linked?;
                    self.disk.sync_names(folder)?;
                    return Ok(None);
                }
            }
            // The key already has a file: that of an earlier submission that was not billed, or
            // that of another process that was faster.
            let Some(file) = if_present(self.disk.open(&path))? else { continue };
            if !process::lock(&file, &path, || "another process".to_owned())? {
                continue;
            }
            if let Some(known) = self.of_key(&owner.key)?.filter(Keyed::may_be_billed) {
                return Ok(Some(known));
            }
            self.with_new(folder, &text, |new| self.disk.rename(new, &path))?;
            self.disk.sync_names(folder)?;
            return Ok(None);
        }
    }

    /// Returns the record of a key. Fails if the record cannot be read or is gone, because its
    /// submission may be billed, and after `None` the client would submit again.
    pub(super) fn of_key(&self, key: &Key) -> io::Result<Option<Keyed>> {
        let path = path(&self.folder.join(KEYS), key);
        let Some(text) = if_present(self.disk.read(&path))? else { return self.unnamed(key) };
        let owner: Option<Owner> = text::read_one(&text);
        let found = match &owner {
            Some(owner) => self.list()?.record(owner.number)?,
            None => None,
        };
        let is_its = |listed: &Listed| {
            owner.is_some_and(|owner| {
                owner.key == *key && listed.record.intent().id() == owner.submission
            })
        };
        match found {
            Some(Ok(listed)) if is_its(&listed) => Ok(Some(keyed(listed))),
            _ => {
                let message = format!(
                    "the record of the key `{}` is damaged or gone, and its picture may be paid: \
                     look at {}",
                    key.name(),
                    path.display()
                );
                Err(io::Error::new(io::ErrorKind::InvalidData, message))
            }
        }
    }

    /// Returns whether another submission owns the key of this one. If so, this submission was
    /// never sent, because a process sends a submission only after it has got the key. Its record
    /// is a leftover: the process ended before it removed the record, or the machine crashed before
    /// the removal was durable.
    pub(super) fn has_lost_key(&self, record: &Record) -> bool {
        let intent = record.intent();
        let (State::Unknown, Some(key)) = (record.state(), intent.key()) else { return false };
        let known = self.of_key(key).ok().flatten().filter(Keyed::may_be_billed);
        known.is_some_and(|known| known.record.intent().id() != intent.id())
    }

    /// Returns the open record of a key that has no file. Its submission may be billed.
    fn unnamed(&self, key: &Key) -> io::Result<Option<Keyed>> {
        let list = self.list()?;
        for number in numbers(&self.folder.join(OPEN))? {
            if let Some(Ok(listed)) = list.record(number)?
                && listed.record.intent().key() == Some(key)
                && !listed.record.state().is_closed()
            {
                return Ok(Some(keyed(listed)));
            }
        }
        Ok(None)
    }
}

fn keyed(Listed { record, is_in_use, .. }: Listed) -> Keyed {
    Keyed { record, is_in_use }
}

fn path(folder: &Path, key: &Key) -> PathBuf {
    let digest = short_hash(&[key.service(), key.name()]);
    folder.join(format!("{digest}-{}.json", key.number()))
}
