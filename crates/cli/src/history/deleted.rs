//! Pictures whose files a person has deleted, moved, or changed.

use std::{path::Path, time::SystemTime};

use super::{Entry, relative, request::digest_of};
use crate::text::{
    sanitize::quoted,
    times::{now, rfc3339},
};
use imagekiln::DELIVERY_VALIDITY;

impl Entry {
    /// Whether the picture was saved to a file that no longer exists.
    pub fn is_deleted(&self) -> bool {
        self.saved_path().is_some_and(|path| matches!(path.try_exists(), Ok(false)))
    }

    /// Whether the file of a saved picture still has the content that was saved. Reads the file.
    pub fn is_intact(&self) -> bool {
        self.saved_path().is_none_or(|path| match digest_of(path) {
            Ok(digest) => self.sha256().is_none_or(|saved| saved == digest),
            Err(_) => false,
        })
    }

    /// Returns until when the service delivers the picture, or `None` if that time has passed.
    pub fn delivered_until(&self) -> Option<SystemTime> {
        let until = self.record.ready_at()?.checked_add(DELIVERY_VALIDITY);
        until.filter(|until| *until > now())
    }

    /// Returns how to get a deleted picture again, for a person in the directory `here`.
    pub fn how_to_restore(&self, here: &Path) -> Option<String> {
        let path = self.saved_path().filter(|_| self.is_deleted())?;
        let number = self.number;
        let again =
            format!("`kiln again @{number}` makes the picture again, and pays for it again");
        Some(match self.delivered_until() {
            Some(until) => {
                let path = quoted(&relative(path, here).to_string_lossy());
                let until = rfc3339(until);
                format!("`kiln task save @{number} -o {path}` fetches it again until {until}")
            }
            None => again,
        })
    }
}
