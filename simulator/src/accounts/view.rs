//! The accounts as they are shown.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::audit::{Actor, AuditEntry};
use super::change::{AccountError, Problem};
use super::role::Permission;
use super::settings::{Finetune, Limits, Member};
use super::spending::{Spent, Usage};
use super::{Accounts, OrganizationRecord, ProjectRecord, ProjectRef};
use crate::credits::Credits;
use crate::ledger::{Account, LedgerEntry};

/// An organization.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct OrganizationView {
    /// Its id.
    pub id: Arc<str>,
    /// Its name.
    pub name: String,
    /// The user it belongs to.
    pub owner: String,
    /// Its credits.
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
    /// The endpoints that it reaches, as names or beginnings with `*`; all where there is none.
    pub endpoints: Option<Vec<String>>,
    /// Its spending limits.
    pub limits: Limits,
    /// What it ever did.
    pub usage: Usage,
    /// What it has spent in the periods of the limits.
    pub spent: Spent,
    /// How many active tasks it may have, where it has a number of its own.
    pub max_active_tasks: Option<usize>,
    /// How many of its tasks have no final status yet.
    pub active_tasks: usize,
    /// Its keys.
    pub keys: Vec<KeyView>,
}

/// A key, which is not shown whole.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct KeyView {
    /// Its id, by which it is revoked.
    pub id: String,
    /// What it is for.
    pub name: String,
    /// Its last four characters behind an ellipsis; the ellipsis alone where it is short.
    pub masked: String,
}

impl Accounts {
    /// The organizations that an actor may see. `active` counts a project's active tasks.
    pub(crate) fn organizations(
        &self,
        actor: &Actor,
        unix: Duration,
        active: impl Fn(&ProjectRef) -> usize,
    ) -> Vec<OrganizationView> {
        let seen =
            self.organizations.keys().filter(|id| self.may(actor, id, None, Permission::View));
        seen.filter_map(|id| self.organization(id, unix, &active)).collect()
    }

    /// The ledger of the organizations whose credits an actor manages, newest first.
    pub(crate) fn ledger(&self, actor: &Actor, limit: usize) -> Vec<LedgerEntry> {
        let visible = |account: &Account| match account {
            Account::Organization(id) => self.may(actor, id, None, Permission::ManageCredits),
            _ => false,
        };
        let entries =
            self.ledger.newest().filter(|entry| visible(&entry.from) || visible(&entry.to));
        entries.take(limit).cloned().collect()
    }

    /// All balances in hundredths of a credit, which add up to zero; for the operator alone.
    pub(crate) fn balances(&self, actor: &Actor) -> Result<Vec<(Account, i128)>, AccountError> {
        match actor {
            Actor::Operator => {
                Ok(self.ledger.balances().map(|(account, sum)| (account.clone(), sum)).collect())
            }
            Actor::User(user) => Err(AccountError::new(
                Problem::Forbidden,
                format!("{user} may not see all balances: only the operator may"),
            )),
        }
    }

    /// The audit log of the organizations in which an actor may see it, newest first.
    pub(crate) fn audit_log(&self, actor: &Actor, limit: usize) -> Vec<AuditEntry> {
        let visible = |entry: &&AuditEntry| {
            self.may(actor, &entry.organization, None, Permission::ViewAuditLog)
        };
        self.audit.newest().filter(visible).take(limit).cloned().collect()
    }

    pub(super) fn organization(
        &self,
        id: &Arc<str>,
        unix: Duration,
        active: &impl Fn(&ProjectRef) -> usize,
    ) -> Option<OrganizationView> {
        let OrganizationRecord { name, owner, members, projects, finetunes } =
            self.organizations.get(id)?;
        let projects = projects.iter().map(|(project_id, project)| {
            let here = ProjectRef { organization: Arc::clone(id), project: Arc::clone(project_id) };
            self.project_view(here, project, unix, active)
        });
        Some(OrganizationView {
            id: Arc::clone(id),
            name: name.clone(),
            owner: owner.clone(),
            balance: self.ledger.balance(&Account::Organization(Arc::clone(id))),
            members: members.values().cloned().collect(),
            projects: projects.collect(),
            finetunes: finetunes.values().cloned().collect(),
        })
    }

    fn project_view(
        &self,
        here: ProjectRef,
        project: &ProjectRecord,
        unix: Duration,
        active: &impl Fn(&ProjectRef) -> usize,
    ) -> ProjectView {
        let keys = self.keys.iter().filter(|(_, key)| key.project == here);
        let keys = keys.map(|(id, key)| KeyView {
            id: id.clone(),
            name: key.name.clone(),
            masked: key.masked(),
        });
        ProjectView {
            name: project.name.clone(),
            endpoints: project.endpoints.clone(),
            limits: project.limits,
            usage: project.spending.usage,
            spent: project.spending.at(unix),
            max_active_tasks: project.max_active_tasks,
            active_tasks: active(&here),
            keys: keys.collect(),
            id: here.project,
        }
    }
}
