//! The content of a log: one line for each change, which is the whole record after the change.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, Serialize};

use crate::journal::Record;

/// A line of a log.
#[derive(Serialize, Deserialize)]
struct Line<'a> {
    number: u64,
    record: Cow<'a, Record>,
}

/// What a log contains.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// By the numbers of the submissions.
    pub(super) records: BTreeMap<u64, Record>,
    /// Lines of a later version, or of another program. They are kept as they are.
    pub(super) unreadable: Vec<Vec<u8>>,
    pub(super) lines: usize,
    /// The length of all complete lines in bytes.
    pub(super) length: usize,
}

impl Content {
    /// Reads a log. It ends with the first byte that is zero, or with an incomplete line: that one
    /// was being written when a process or the machine stopped, and nobody was told that it was
    /// written.
    pub(super) fn read(text: &[u8]) -> Self {
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        let mut content = Self::default();
        for line in text.get(..end).unwrap_or_default().split_inclusive(|byte| *byte == b'\n') {
            if !line.ends_with(b"\n") {
                break;
            }
            match serde_json::from_slice(line) {
                // A later line of the same log is later.
                Ok(Line { number, record }) => {
                    content.records.insert(number, record.into_owned());
                }
                Err(_) => content.unreadable.push(line.to_owned()),
            }
            content.lines += 1;
            content.length += line.len();
        }
        content
    }

    /// Returns the highest number of a submission, or 0.
    pub(super) fn highest(&self) -> u64 {
        self.records.last_key_value().map_or(0, |(number, _)| *number)
    }

    /// Adds a record of another log, unless a later state of the same submission is known.
    pub(super) fn add(&mut self, mut number: u64, record: Record) {
        // The machine stopped before the number that was given last was durable.
        let is_other = |known: &Record| known.intent().id() != record.intent().id();
        while self.records.get(&number).is_some_and(is_other) {
            number = number.wrapping_add(1);
        }
        let age = |record: &Record| (record.task().is_some(), record.state().rank());
        if self.records.get(&number).is_none_or(|known| age(known) <= age(&record)) {
            self.records.insert(number, record);
        }
    }
}

/// Returns the line of a record.
pub(super) fn line(number: u64, record: &Record) -> serde_json::Result<Vec<u8>> {
    let record = Cow::Borrowed(record);
    let mut line = serde_json::to_vec(&Line { number, record })?;
    line.push(b'\n');
    Ok(line)
}
