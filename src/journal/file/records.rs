//! The lines of a journal, and the entries that they describe.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::super::entry::{Entry, Intent};
use crate::TaskRef;

/// A line of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Record {
    Intent(Intent),
    /// The task of an intent, with the id of the intent.
    Accepted {
        intent: String,
        task: TaskRef,
    },
    /// An intent that needs nothing more.
    Closed {
        intent: String,
    },
}

impl Record {
    pub(super) fn line(&self) -> serde_json::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }
}

/// The entries that are not closed.
#[derive(Default)]
pub(super) struct Entries {
    next: u64,
    /// Ordered by intent.
    entries: BTreeMap<u64, Entry>,
    by_intent: HashMap<String, u64>,
    by_task: HashMap<String, u64>,
}

impl Entries {
    pub(super) fn apply(&mut self, record: Record) {
        match record {
            Record::Intent(intent) => {
                self.by_intent.insert(intent.id().to_owned(), self.next);
                self.entries.insert(self.next, Entry::Unknown(intent));
                self.next += 1;
            }
            Record::Accepted { intent, task } => {
                let Some(number) = self.by_intent.get(&intent) else { return };
                self.by_task.insert(task.id().to_owned(), *number);
                if let Some(entry) = self.entries.get_mut(number) {
                    *entry = Entry::Accepted(entry.intent().clone(), task);
                }
            }
            Record::Closed { intent } => {
                let Some(number) = self.by_intent.remove(&intent) else { return };
                if let Some(Entry::Accepted(_, task)) = self.entries.remove(&number) {
                    self.by_task.remove(task.id());
                }
            }
        }
    }

    /// Returns the intent of a task.
    pub(super) fn intent_of(&self, task: &TaskRef) -> Option<&Intent> {
        self.entries.get(self.by_task.get(task.id())?).map(Entry::intent)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the minimal records that produce these entries.
    pub(super) fn records(&self) -> impl Iterator<Item = Record> {
        self.iter().flat_map(|entry| {
            let accepted = match entry {
                Entry::Unknown(_) => None,
                Entry::Accepted(intent, task) => {
                    Some(Record::Accepted { intent: intent.id().to_owned(), task: task.clone() })
                }
            };
            [Some(Record::Intent(entry.intent().clone())), accepted].into_iter().flatten()
        })
    }
}

/// The content of a journal file.
pub(super) struct Read {
    pub(super) entries: Entries,
    pub(super) lines: usize,
    /// The length of all complete records in bytes. The rest was being written when a process or
    /// the machine stopped.
    pub(super) complete: usize,
    /// Whether the newline of the last record is missing.
    pub(super) lacks_newline: bool,
}

/// Reads a journal. The error is the number of the first line, starting at 1, that is not a record.
pub(super) fn read(text: &[u8]) -> Result<Read, usize> {
    let mut read =
        Read { entries: Entries::default(), lines: 0, complete: 0, lacks_newline: false };
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let end = read.complete + line.len();
        match serde_json::from_slice(line) {
            Ok(record) => read.entries.apply(record),
            Err(_) if is_incomplete(line, read.lines) => break,
            Err(_) => return Err(read.lines + 1),
        }
        read.complete = end;
        read.lines += 1;
        read.lacks_newline = !line.ends_with(b"\n");
    }
    Ok(read)
}

/// Whether a line can be an interrupted write: its newline, which is written last, is missing. The
/// first line must also look like the start of a record, because a file without any record may not
/// be a journal, and must not be truncated.
fn is_incomplete(line: &[u8], lines_before: usize) -> bool {
    const FIRST: &[u8] = br#"{"intent":{"#;
    let is_beginning = || line.iter().zip(FIRST).all(|(byte, expected)| byte == expected);
    let is_empty_block = || line.iter().all(|byte| *byte == 0);
    !line.ends_with(b"\n") && (lines_before > 0 || is_beginning() || is_empty_block())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal() -> Vec<Record> {
        let intents = ["gen-2-pro", "gen-2-flex", "gen-2-pro"]
            .map(|operation| Intent::new(operation, std::time::UNIX_EPOCH, None));
        let task =
            |id: &str| TaskRef::new(id, format!("http://127.0.0.1:9/v1/get_result?id={id}"), None);
        let [first, second, third] = intents.clone().map(|intent| intent.id().to_owned());
        let [one, two, three] = intents.map(Record::Intent);
        vec![
            one,
            two,
            Record::Accepted { intent: second.clone(), task: task("b") },
            three,
            Record::Closed { intent: first },
            Record::Accepted { intent: third, task: task("c") },
            Record::Closed { intent: second },
        ]
    }

    fn text(records: &[Record]) -> Vec<u8> {
        records.iter().flat_map(|record| record.line().unwrap()).collect()
    }

    fn entries_of(records: &[Record]) -> Vec<Entry> {
        let mut entries = Entries::default();
        records.iter().for_each(|record| entries.apply(record.clone()));
        entries.iter().cloned().collect()
    }

    #[test]
    fn a_truncated_journal_has_all_complete_lines() {
        let records = journal();
        let whole = text(&records);
        for length in 0..=whole.len() {
            // A record is readable without its newline.
            let is_known = |lines: &usize| text(&records[..*lines]).len() <= length + 1;
            let lines = (1..=records.len()).take_while(is_known).last().unwrap_or_default();
            let read = read(&whole[..length]).unwrap();
            assert_eq!(read.lines, lines);
            assert_eq!(
                read.complete + usize::from(read.lacks_newline),
                text(&records[..lines]).len()
            );
            let found: Vec<_> = read.entries.iter().cloned().collect();
            assert_eq!(found, entries_of(&records[..lines]), "truncated at {length}");
        }
    }

    #[test]
    fn only_a_last_line_without_a_newline_is_incomplete() {
        let whole = text(&journal());
        for incomplete in [&[0; 100][..], b"{", b"milk"] {
            assert_eq!(read(&[&whole, incomplete].concat()).unwrap().complete, whole.len());
        }
        // A complete line may be a record of a later version and name a task.
        let with_newline = [whole.clone(), b"{\"later\":{}}\n".to_vec()].concat();
        assert_eq!(read(&with_newline).err(), Some(8));
        for nothing_else in [&[0; 100][..], b"{", b"{\"intent\":{\"id\""] {
            assert_eq!(read(nothing_else).unwrap().complete, 0);
        }
        for other in ["milk", "milk\n", "{\"name\": \"fox\"}", "[1]"] {
            assert_eq!(read(other.as_bytes()).err(), Some(1), "{other}");
        }
        let in_the_middle = [text(&journal()[..2]), b"{}\n".to_vec(), whole].concat();
        assert_eq!(read(&in_the_middle).err(), Some(3));
    }

    #[test]
    fn compaction_keeps_all_entries() {
        let records = journal();
        for count in 0..=records.len() {
            let mut entries = Entries::default();
            records[..count].iter().for_each(|record| entries.apply(record.clone()));
            let again: Vec<_> = entries.records().collect();
            assert_eq!(entries_of(&again), entries.iter().cloned().collect::<Vec<_>>());
        }
    }
}
