//! What the fuzz targets call of this module.

use super::lines::{Content, line};
use crate::journal::Record;

/// What is read of a log.
#[derive(Debug)]
pub struct ReadLog {
    /// The records with their numbers.
    pub records: Vec<(u64, Record)>,
    /// The length of all complete lines in bytes.
    pub complete: usize,
    /// The log after a compaction.
    pub compacted: Vec<u8>,
}

/// Reads the content of a log.
pub fn read(text: &[u8]) -> ReadLog {
    let content = Content::read(text);
    let lines = content.records.iter().filter_map(|(number, record)| line(*number, record).ok());
    let compacted = content.unreadable.iter().cloned().chain(lines).flatten().collect();
    let complete = content.length;
    ReadLog { records: content.records.into_iter().collect(), complete, compacted }
}
