//! The numbers of submissions, which processes share.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::Path,
};

use super::log::private;

/// Gives the next numbers. The file has the one that was given last, as text of a fixed length, so
/// that a full disk can be written.
pub(super) struct Numbers(File);

impl Numbers {
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        let path = directory.join("numbers");
        Ok(Self(private().read(true).write(true).create(true).truncate(false).open(path)?))
    }

    /// Returns the first of `count` new numbers. They and all later ones are larger than `floor`.
    pub(super) fn give(&mut self, count: u64, floor: u64) -> io::Result<u64> {
        self.0.lock()?;
        let given = self.give_locked(count, floor);
        self.0.unlock()?;
        given
    }

    fn give_locked(&mut self, count: u64, floor: u64) -> io::Result<u64> {
        let mut text = String::new();
        self.0.seek(SeekFrom::Start(0))?;
        // A file that is damaged counts as new.
        let _ = self.0.read_to_string(&mut text);
        let last: u64 = text.trim().parse().unwrap_or_default();
        let first = last.max(floor).saturating_add(1);
        self.0.seek(SeekFrom::Start(0))?;
        self.0.write_all(format!("{:020}\n", (first - 1).saturating_add(count)).as_bytes())?;
        Ok(first)
    }
}
