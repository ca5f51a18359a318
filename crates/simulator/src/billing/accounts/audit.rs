//! The audit log: who has made, or tried to make, which changes to the accounts.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Accounts, settings::Permission};

/// The maximum number of entries to keep. Above it, the oldest are dropped.
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
    /// The time of the change: seconds since 1970-01-01 00:00 UTC, on the simulator's clock.
    pub unix_seconds: u64,
    /// Who made the change: a user, `operator` for the person who runs the simulator, or the
    /// project with whose key a request was sent.
    pub actor: String,
    /// The id of the changed organization. `None` for changes to the whole simulator.
    pub organization: Option<String>,
    /// A description of the change, which contains no keys.
    pub action: String,
    /// Whether the change was allowed and made.
    pub done: bool,
}

impl Accounts {
    /// Writes an entry of the audit log.
    pub(super) fn record(
        &mut self,
        unix: Duration,
        actor: &str,
        organization: Option<&str>,
        action: String,
        done: bool,
    ) {
        self.audit.write(MAX_KEPT, |number| AuditEntry {
            number,
            unix_seconds: unix.as_secs(),
            actor: actor.to_owned(),
            organization: organization.map(str::to_owned),
            action,
            done,
        });
    }

    /// Returns the audit log of the organizations whose log the actor may view, newest first.
    pub(crate) fn audit_log(&self, actor: &Actor, limit: usize) -> Vec<AuditEntry> {
        let visible = |entry: &&AuditEntry| {
            entry.organization.as_ref().map_or(*actor == Actor::Operator, |organization| {
                self.may(actor, organization, None, Permission::ViewAuditLog)
            })
        };
        self.audit.newest().filter(visible).take(limit).cloned().collect()
    }
}
