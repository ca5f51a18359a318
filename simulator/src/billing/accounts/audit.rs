//! The audit log: changes to the accounts, and who made them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::values::log::NumberedLog;

/// The maximum number of entries; the oldest are dropped.
const MAX_KEPT: usize = 10_000;

/// The author of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Actor {
    /// The person who runs the simulator, who may do everything.
    Operator,
    /// A user, who may do what their role in the organization or the project permits.
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
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct AuditEntry {
    /// The number of the entry, counted from 1.
    pub number: u64,
    /// Seconds since 1970-01-01 00:00 UTC, on the simulator's clock.
    pub unix_seconds: u64,
    /// The user, `operator` for the person who runs the simulator, or the project whose key made a
    /// request.
    pub actor: String,
    /// The id of the organization; `None` for changes to the whole simulator.
    pub organization: Option<String>,
    /// A description of the change, without any keys.
    pub action: String,
    /// Whether the change was allowed and made.
    pub done: bool,
}

#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct AuditLog(NumberedLog<AuditEntry>);

impl AuditLog {
    pub(super) fn write(
        &mut self,
        unix: Duration,
        actor: &str,
        organization: Option<&str>,
        action: String,
        done: bool,
    ) {
        self.0.write(MAX_KEPT, |number| AuditEntry {
            number,
            unix_seconds: unix.as_secs(),
            actor: actor.to_owned(),
            organization: organization.map(str::to_owned),
            action,
            done,
        });
    }

    pub(super) fn is_in_order(&self) -> bool {
        self.0.is_in_order(|entry| entry.number)
    }

    /// The entries, newest first.
    pub(super) fn newest(&self) -> impl Iterator<Item = &AuditEntry> {
        self.0.newest()
    }
}
