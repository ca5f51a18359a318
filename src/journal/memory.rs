//! A journal in memory, which is lost when the process ends.

use std::sync::Arc;

use super::{Intent, Journal, JournalFuture, Key, Keyed, Record, Step, Unreadable};
use crate::values::Mutex;

/// A [`Journal`] in memory, for tests of programs that use a journal. Clones share the records,
/// which are lost when the last clone is dropped.
///
/// ```
/// use imagekiln::{ClientBuilder, journal::Memory};
///
/// fn with_journal(client: ClientBuilder) -> ClientBuilder {
///     client.journal(Memory::default())
/// }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Memory(Arc<Mutex<Vec<Record>>>);

impl Memory {
    /// Returns all records, oldest first.
    pub fn records(&self) -> Vec<Record> {
        self.0.lock().clone()
    }
}

/// Returns the last record of a key. It always counts as in use, because its submission may still
/// be in flight in this process.
fn of_key(records: &[Record], key: &Key) -> Option<Keyed> {
    let record = records.iter().rev().find(|record| record.intent().key() == Some(key))?;
    Some(Keyed { record: record.clone(), is_in_use: true })
}

impl Journal for Memory {
    fn intend<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()> {
        self.0.lock().push(Record::new(intent.clone()));
        Box::pin(async { Ok(()) })
    }

    fn intend_once<'a>(
        &'a self,
        intent: &'a Intent,
        key: &'a Key,
    ) -> JournalFuture<'a, Option<Keyed>> {
        let mut records = self.0.lock();
        let known = of_key(&records, key).filter(Keyed::may_be_billed);
        if known.is_none() {
            records.push(Record::new(intent.clone()));
        }
        Box::pin(async { Ok(known) })
    }

    fn of_key<'a>(&'a self, key: &'a Key) -> JournalFuture<'a, Option<Keyed>> {
        let known = of_key(&self.0.lock(), key);
        Box::pin(async { Ok(known) })
    }

    fn advance<'a>(&'a self, submission: &'a str, step: &'a Step) -> JournalFuture<'a, ()> {
        let mut records = self.0.lock();
        if let Some(record) = records.iter_mut().find(|record| record.intent().id() == submission) {
            record.advance(step);
        }
        Box::pin(async { Ok(()) })
    }

    fn open_records(&self) -> JournalFuture<'_, Vec<Result<Record, Unreadable>>> {
        let mut records = self.records();
        records.retain(|record| !record.state().is_closed());
        Box::pin(async { Ok(records.into_iter().map(Ok).collect()) })
    }
}
