//! The keys of a journal: `keys/DIGEST-1.json` names the submission of the first attempt of a key.

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
    values::{file::is_at, hash::short_hash},
};

const KEYS: &str = "keys";

/// What the file of a key says.
#[derive(Serialize, Deserialize)]
struct Owner {
    key: Key,
    number: u64,
    submission: String,
}

impl Files {
    /// Writes the record of a submission with a key, unless there is one that may be billed.
    /// Returns that.
    pub(super) fn intend_once(&self, intent: Intent, key: &Key) -> io::Result<Option<Keyed>> {
        let folder = self.folder().join(KEYS);
        create_durable(&*self.disk, &folder)?;
        if let Some(known) = self.of_key(key)?.filter(Keyed::may_be_billed) {
            return Ok(Some(known));
        }
        let submission = intent.id().to_owned();
        let number = self.intend(intent)?;
        let owner = Owner { key: key.clone(), number, submission };
        let taken = self.take(&folder, &owner);
        // Nothing is sent. If that cannot be written either, a person is asked.
        match &taken {
            Ok(None) => {}
            Ok(Some(_)) => drop(self.disk.remove(&open_path(self.folder(), number))),
            // The key may already name the record.
            Err(_) => drop(self.advance(&owner.submission, &Step::NotBilled)),
        }
        taken
    }

    /// Makes a submission that of a key. Returns the one that another process has made it.
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
            // That of the last one, which was not billed, or of a process that was faster.
            let Some(file) = if_present(self.disk.open(&path))? else { continue };
            process::lock(&file, || "another process".to_owned())?;
            if !is_at(&file, &path).unwrap_or(false) {
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

    /// Returns the record of a key. Fails if it cannot be read, or is gone: it may be billed.
    pub(super) fn of_key(&self, key: &Key) -> io::Result<Option<Keyed>> {
        let path = path(&self.folder().join(KEYS), key);
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

    /// Whether another submission has the key of this one, which was then never sent: its process
    /// ended before it could remove the record, or the system crashed before that was durable.
    pub(super) fn has_lost_key(&self, record: &Record) -> bool {
        let intent = record.intent();
        let (State::Unknown, Some(key)) = (record.state(), intent.key()) else { return false };
        let known = self.of_key(key).ok().flatten().filter(Keyed::may_be_billed);
        known.is_some_and(|known| known.record.intent().id() != intent.id())
    }

    /// Returns the open record of a key whose file is gone.
    fn unnamed(&self, key: &Key) -> io::Result<Option<Keyed>> {
        let mut list = self.list()?;
        for number in numbers(&self.folder().join(OPEN))? {
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
