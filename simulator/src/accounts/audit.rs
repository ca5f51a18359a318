//! What was done to the accounts, and by whom.

use std::collections::VecDeque;
use std::time::Duration;

use serde::Serialize;

/// More are let go of, the oldest first.
const MAX_KEPT: usize = 10_000;

/// Who acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Actor {
    /// Whoever runs the simulator, who may do everything.
    Operator,
    /// A user, who may do what the role in the organization or the project allows.
    User(String),
}

impl Actor {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Operator => "operator",
            Self::User(user) => user,
        }
    }
}

/// An entry of the audit log.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct AuditEntry {
    /// Counted from 1.
    pub number: u64,
    /// Seconds since 1970-01-01 00:00 UTC, by the simulator's clock.
    pub unix_seconds: u64,
    /// The user, or `operator` for whoever runs the simulator.
    pub actor: String,
    /// The id of the organization it was done to.
    pub organization: String,
    /// What was done, in words; no key is in it.
    pub action: String,
    /// Whether it was allowed and done.
    pub done: bool,
}

#[derive(Default)]
pub(super) struct AuditLog {
    entries: VecDeque<AuditEntry>,
    written: u64,
}

impl AuditLog {
    pub(super) fn write(
        &mut self,
        unix: Duration,
        actor: &Actor,
        organization: &str,
        action: String,
        done: bool,
    ) {
        self.written += 1;
        self.entries.push_back(AuditEntry {
            number: self.written,
            unix_seconds: unix.as_secs(),
            actor: actor.name().to_owned(),
            organization: organization.to_owned(),
            action,
            done,
        });
        if self.entries.len() > MAX_KEPT {
            self.entries.pop_front();
        }
    }

    /// The newest first.
    pub(super) fn newest(&self) -> impl Iterator<Item = &AuditEntry> {
        self.entries.iter().rev()
    }
}
