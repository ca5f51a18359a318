//! What the fuzz targets call of this module.

use super::records;
use crate::journal::Entry;

/// What is read of a journal.
#[derive(Debug)]
pub struct ReadJournal {
    /// The entries that are not closed.
    pub entries: Vec<Entry>,
    /// The length of all complete records in bytes.
    pub complete: usize,
    /// The journal after a compaction.
    pub compacted: Vec<u8>,
}

/// Reads the content of a journal. The error is the number of the line that is not a record.
pub fn read(text: &[u8]) -> Result<ReadJournal, usize> {
    let read = records::read(text)?;
    let lines = read.entries.records().filter_map(|record| record.line().ok());
    Ok(ReadJournal {
        entries: read.entries.iter().cloned().collect(),
        complete: read.complete,
        compacted: lines.flatten().collect(),
    })
}
