//! Views of the accounts.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde::Serialize;

use super::{
    Accounts, OrganizationRecord, ProjectRecord, ProjectRef,
    audit::Actor,
    key::Key,
    settings::Permission,
    settings::{Finetune, Limits, Member},
    spending::{Spent, Usage},
};
use crate::billing::{
    credits::Credits,
    ledger::{Account, LedgerEntry},
};

/// An organization.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct OrganizationView {
    /// Its id.
    pub id: Arc<str>,
    /// Its name.
    pub name: String,
    /// The user who owns it.
    pub owner: String,
    /// Its balance in credits.
    pub balance: Credits,
    /// Users with a role in it.
    pub members: Vec<Member>,
    /// Its projects.
    pub projects: Vec<ProjectView>,
    /// Its finetunes.
    pub finetunes: Vec<Finetune>,
}

/// A project.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ProjectView {
    /// Its id, unique within the organization.
    pub id: Arc<str>,
    /// Its name.
    pub name: String,
    /// The endpoints that it has access to, as names or prefixes with `*`; `None` means all.
    pub endpoints: Option<Vec<String>>,
    /// Its spending limits.
    pub limits: Limits,
    /// Its total usage.
    pub usage: Usage,
    /// Its spending in the periods of the limits.
    pub spent: Spent,
    /// Its maximum of active tasks, if it sets one.
    pub max_active_tasks: Option<usize>,
    /// The number of its active tasks.
    pub active_tasks: usize,
    /// Its keys.
    pub keys: Vec<KeyView>,
}

/// A key, masked.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct KeyView {
    /// Its id, which is used to revoke it.
    pub id: String,
    /// Its label.
    pub name: String,
    /// An ellipsis and its end, of at most four characters and a third of the key.
    pub masked: String,
    /// Whether the simulator knows the complete key. Of a key from a
    /// [snapshot](crate::Simulator::restore), it may have only a digest.
    pub can_be_revealed: bool,
}

impl Accounts {
    /// The organizations that an actor may view. `active` returns a project's number of active
    /// tasks.
    pub(crate) fn organizations(
        &self,
        actor: &Actor,
        unix: Duration,
        active: impl Fn(&ProjectRef) -> usize,
    ) -> Vec<OrganizationView> {
        let may_see = |id: &str| self.may(actor, id, None, Permission::View);
        let seen = self.organizations.iter().filter(|(id, _)| may_see(id));
        seen.map(|(id, record)| self.organization_view(id, record, unix, &active)).collect()
    }

    /// The ledger entries of the organizations whose credits an actor manages, newest first.
    pub(crate) fn ledger(&self, actor: &Actor, limit: usize) -> Vec<LedgerEntry> {
        let visible = |account: &Account| match account {
            Account::Organization(id) => self.may(actor, id, None, Permission::ManageCredits),
            _ => false,
        };
        let entries =
            self.ledger.newest().filter(|entry| visible(&entry.from) || visible(&entry.to));
        entries.take(limit).cloned().collect()
    }

    /// All balances in credits, which add up to zero.
    pub(crate) fn balances(&self) -> BTreeMap<&Account, f64> {
        self.ledger.balances().map(|(account, sum)| (account, sum as f64 / 100.0)).collect()
    }

    fn organization_view(
        &self,
        id: &Arc<str>,
        record: &OrganizationRecord,
        unix: Duration,
        active: &impl Fn(&ProjectRef) -> usize,
    ) -> OrganizationView {
        let OrganizationRecord { name, owner, members, projects, finetunes } = record;
        let project = |(project_id, project): (&Arc<str>, &ProjectRecord)| {
            let here = ProjectRef { organization: Arc::clone(id), project: Arc::clone(project_id) };
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
        let usable = finetunes.values().filter(|stored| stored.is_usable(unix));
        OrganizationView {
            id: Arc::clone(id),
            name: name.clone(),
            owner: owner.clone(),
            balance: self.ledger.balance(&Account::Organization(Arc::clone(id))),
            members: members.values().cloned().collect(),
            projects: projects.iter().map(project).collect(),
            finetunes: usable.map(|stored| stored.finetune.clone()).collect(),
        }
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
