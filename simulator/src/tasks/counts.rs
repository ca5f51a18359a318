//! Counters, for tests to compare with what they did.

use std::collections::BTreeMap;

use crate::billing::credits::Credits;

/// What happened since the start. Every accepted submission is charged once, at acceptance,
/// whatever its outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Accepted submissions; each created a task.
    pub accepted: u64,
    /// Credits charged for them.
    pub charged: Credits,
    /// Tasks that are `Ready` by now.
    pub ready: u64,
    /// Tasks that have another final status by now.
    pub failed: u64,
    /// Polls answered with a status, including `Task not found`.
    pub polls: u64,
    /// Pictures handed completely to the connection. A picture fetched twice counts twice.
    pub delivered: u64,
    /// Rejected requests, by status code.
    pub refused: BTreeMap<u16, u64>,
    /// Applied faults, by name. The responses they cause are counted here and not in `refused`.
    pub faults: BTreeMap<&'static str, u64>,
}

impl Counts {
    /// Requests rejected with this status code.
    pub fn refused_with(&self, status: u16) -> u64 {
        self.refused.get(&status).copied().unwrap_or(0)
    }
}
