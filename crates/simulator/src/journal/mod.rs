//! The journal records every request to the service, including refused ones.

mod pattern;
mod record;

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::time::Instant;
use tracing::info;

pub(crate) use self::pattern::{RequestPattern, problem};
pub use self::record::{RequestRecord, RequestViolation};
use crate::values::log::NumberedLog;

pub(crate) struct Journal {
    requests: Mutex<NumberedLog<RequestRecord>>,
    max_kept: usize,
}

/// The requests in the journal that match a pattern.
#[derive(Serialize)]
pub(crate) struct Found {
    /// The number of matching requests.
    count: usize,
    /// The number of requests that have been dropped, some of which may have matched, too.
    dropped: u64,
    /// What is wrong, if the pattern contains an expected number of requests, and the actual number
    /// differs.
    problem: Option<String>,
    /// The newest matching requests, newest first.
    pub(crate) requests: Vec<RequestRecord>,
}

impl Journal {
    pub(crate) fn new(max_kept: usize) -> Self {
        Self { requests: Mutex::default(), max_kept }
    }

    fn log(&self) -> MutexGuard<'_, NumberedLog<RequestRecord>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the record of a request. The record is written when the returned entry is dropped,
    /// even if no response was sent.
    pub(crate) fn entry(&self, record: RequestRecord) -> JournalEntry<'_> {
        JournalEntry { journal: self, started: Instant::now(), record }
    }

    /// Returns the kept requests, oldest first.
    pub(crate) fn oldest_first(&self) -> Vec<RequestRecord> {
        self.log().newest().rev().cloned().collect()
    }

    /// Removes the requests for which `keep` returns false.
    pub(crate) fn retain(&self, keep: impl FnMut(&RequestRecord) -> bool) {
        self.log().retain(keep);
    }

    pub(crate) fn find(&self, pattern: &RequestPattern) -> Found {
        let log = self.log();
        let matching: Vec<_> = log.newest().filter(|record| pattern.matches(record)).collect();
        let oldest_first = || log.newest().rev().collect::<Vec<_>>();
        let wanted = pattern.times.map(|times| times..=times);
        Found {
            problem: wanted.and_then(|wanted| problem(pattern, None, &wanted, &oldest_first())),
            count: matching.len(),
            dropped: log.dropped(),
            requests: matching.into_iter().take(pattern.limit()).cloned().collect(),
        }
    }

    /// The number of requests since the simulator started.
    pub(crate) fn written(&self) -> u64 {
        self.log().written()
    }
}

/// A request in progress, whose record is written at its end.
pub(crate) struct JournalEntry<'a> {
    journal: &'a Journal,
    started: Instant,
    pub(crate) record: RequestRecord,
}

impl Drop for JournalEntry<'_> {
    fn drop(&mut self) {
        let elapsed = self.started.elapsed();
        let mut record = std::mem::take(&mut self.record);
        // Round to microseconds, which are precise enough.
        record.duration_ms = elapsed.as_micros() as f64 / 1000.0;
        let RequestRecord { method, path, region, .. } = &record;
        let operation = record.operation.as_deref();
        let (status, task) = (record.status, record.task_id.as_deref());
        let faults = (!record.faults.is_empty()).then(|| record.faults.join(", "));
        let reason = record.reason();
        info!(method, path, %region, operation, status, task, faults, reason, ?elapsed, "request");
        self.journal.log().write(self.journal.max_kept, |number| {
            record.number = number;
            record
        });
    }
}
