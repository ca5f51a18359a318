//! What the simulator counts, so that tests can hold it against what they did.

use std::collections::BTreeMap;

use crate::credits::Credits;

/// What happened since the start. Every accepted submission is charged once, at acceptance,
/// whatever becomes of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Submissions accepted: each made a task.
    pub accepted: u64,
    /// Credits charged for them.
    pub charged: Credits,
    /// Tasks that are `Ready` by now.
    pub ready: u64,
    /// Tasks that ended in any other final status by now.
    pub failed: u64,
    /// Polls answered with a status, `Task not found` among them.
    pub polls: u64,
    /// Pictures handed whole to the connection. A picture fetched twice counts twice.
    pub delivered: u64,
    /// Requests refused, by HTTP status.
    pub refused: BTreeMap<u16, u64>,
    /// Faults that struck, by their names. What they answer with is counted here, and not as
    /// refused.
    pub struck: BTreeMap<&'static str, u64>,
}

impl Counts {
    /// Requests refused with this HTTP status.
    pub fn refused_with(&self, status: u16) -> u64 {
        self.refused.get(&status).copied().unwrap_or(0)
    }
}
