//! Pictures whose files a person has deleted, or moved.

use std::path::Path;

use super::{Entry, relative};
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

    /// How to get a deleted picture again, for a person in the directory `here`.
    pub fn how_to_restore(&self, here: &Path) -> Option<String> {
        let path = self.saved_path().filter(|_| self.is_deleted())?;
        let number = self.number;
        let again =
            format!("`kiln again @{number}` makes the picture again, and pays for it again");
        let until = self.record.ready_at().and_then(|ready| ready.checked_add(DELIVERY_VALIDITY));
        Some(match until.filter(|until| *until > now()) {
            Some(until) => {
                let path = quoted(&relative(path, here).to_string_lossy());
                let until = rfc3339(until);
                format!("`kiln task save @{number} -o {path}` fetches it again until {until}")
            }
            None => again,
        })
    }
}
