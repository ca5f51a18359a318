//! The view of accounts: what the Rust API and the control interface show. That includes the audit
//! log: who has made, or tried to make, which changes to the accounts.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use super::{
    Accounts, Finetune, Key, Limits, Member, OrganizationRecord, Permission, ProjectRecord,
    ProjectRef, Spent, Usage,
};
use crate::billing::{
    credits::Credits,
    ledger::{Account, LedgerEntry},
};

/// An organization.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct OrganizationView {
    /// The id of the organization.
    pub id: Arc<str>,
    /// The name of the organization.
    pub name: String,
    /// The user who owns the organization.
    pub owner: String,
    /// The balance in credits.
    pub balance: Credits,
    /// The users with a role in the organization.
    pub members: Vec<Member>,
    /// The projects.
    pub projects: Vec<ProjectView>,
    /// The finetunes.
    pub finetunes: Vec<Finetune>,
}

/// A project.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ProjectView {
    /// The id of the project, which is unique within the organization.
    pub id: Arc<str>,
    /// The name of the project.
    pub name: String,
    /// The endpoints to which the project has access, as names or prefixes with `*`. `None` stands
    /// for all endpoints.
    pub endpoints: Option<Vec<String>>,
    /// The spending limits.
    pub limits: Limits,
    /// The total usage.
    pub usage: Usage,
    /// What was spent in the periods of the limits.
    pub spent: Spent,
    /// The maximum number of active tasks, if the project sets one.
    pub max_active_tasks: Option<usize>,
    /// The number of active tasks.
    pub active_tasks: usize,
    /// The keys.
    pub keys: Vec<KeyView>,
}

/// A masked key.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct KeyView {
    /// The id of the key, which is needed to revoke it.
    pub id: String,
    /// The label of the key.
    pub name: String,
    /// An ellipsis and the end of the key, which is at most four characters and at most a third of
    /// the key.
    pub masked: String,
    /// Whether the simulator knows the complete key. Of a key from a
    /// [snapshot](crate::Simulator::restore), it may only know a digest.
    pub can_be_revealed: bool,
}

impl Accounts {
    /// Returns the organizations that an actor may view. `active` returns the number of a project's
    /// active tasks.
    pub(crate) fn organizations(
        &self,
        actor: &Actor,
        unix: Duration,
        active: impl Fn(&ProjectRef) -> usize,
    ) -> Vec<OrganizationView> {
        let may_see = |id: &str| self.may(actor, (id, None), Permission::View);
        let seen = self.organizations.iter().filter(|(id, _)| may_see(id));
        let view = |(id, record): (&Arc<str>, &OrganizationRecord)| {
            let project = |(project_id, project): (&Arc<str>, &ProjectRecord)| {
                let (organization, id) = (Arc::clone(id), Arc::clone(project_id));
                let here = ProjectRef { organization, project: id };
                ProjectView {
                    name: project.name.clone(),
                    endpoints: project.endpoints.clone(),
                    limits: project.limits,
                    usage: project.spending.usage,
                    spent: project.spending.at(unix),
                    max_active_tasks: project.max_active_tasks,
                    active_tasks: active(&here),
                    keys: self.keys_of(&here),
                    id: here.project,
                }
            };
            let usable = record.finetunes.values().filter(|stored| stored.is_usable(unix));
            OrganizationView {
                id: Arc::clone(id),
                name: record.name.clone(),
                owner: record.owner.clone(),
                balance: self.ledger.balance(&Account::Organization(Arc::clone(id))),
                members: record.members.values().cloned().collect(),
                projects: record.projects.iter().map(project).collect(),
                finetunes: usable.map(|stored| stored.finetune.clone()).collect(),
            }
        };
        seen.map(view).collect()
    }

    /// Returns the ledger entries of the organizations whose credits an actor may manage, newest
    /// first.
    pub(crate) fn ledger(&self, actor: &Actor, limit: usize) -> Vec<LedgerEntry> {
        let visible = |account: &Account| match account {
            Account::Organization(id) => self.may(actor, (id, None), Permission::ManageCredits),
            _ => false,
        };
        let entries =
            self.ledger.newest().filter(|entry| visible(&entry.from) || visible(&entry.to));
        entries.take(limit).cloned().collect()
    }

    /// Returns the balances of all accounts in credits, which add up to zero.
    pub(crate) fn balances(&self) -> BTreeMap<&Account, f64> {
        self.ledger.balances().map(|(account, sum)| (account, sum as f64 / 100.0)).collect()
    }

    fn keys_of(&self, project: &ProjectRef) -> Vec<KeyView> {
        let mut keys: Vec<_> =
            self.keys.iter().filter(|(_, key)| key.project == *project).collect();
        keys.sort_by_key(|(_, key)| key.number);
        let view = |(digest, key): (&String, &Key)| KeyView {
            id: key.id(),
            name: key.name.clone(),
            masked: key.masked.clone(),
            can_be_revealed: self.secrets.contains_key(digest),
        };
        keys.into_iter().map(view).collect()
    }
}

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
    pub(crate) fn record(
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
                self.may(actor, (organization, None), Permission::ViewAuditLog)
            })
        };
        self.audit.newest().filter(visible).take(limit).cloned().collect()
    }
}
