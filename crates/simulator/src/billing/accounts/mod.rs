//! Organizations, projects and keys: authentication, access and billing.

mod finetunes;
mod settings;
mod spending;
mod start;
mod view;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use axum::http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};

pub(crate) use self::finetunes::{MAX_NAME as MAX_FINETUNE_NAME, StoredFinetune, is_finetune_name};
pub use self::settings::{Finetune, Limits, Member, Organization, Project, ProjectKey};
pub use self::settings::{Permission, Role};
use self::spending::Spending;
pub use self::spending::{Spent, Usage};
use self::start::{Key, digest};
pub(crate) use self::start::{id_of, is_sendable, masked_key};
pub(crate) use self::view::Actor;
pub use self::view::{AuditEntry, KeyView, OrganizationView, ProjectView};

use crate::{
    billing::{
        credits::Credits,
        ledger::{Account, Ledger},
    },
    contract::key_header,
    http::response::Problem,
    values::{MAX_COUNT, log::NumberedLog, names, secret::Secret},
};

/// The id of a project, and that of its organization.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProjectRef {
    pub(crate) organization: Arc<str>,
    pub(crate) project: Arc<str>,
}

/// An organization, or one of its projects.
pub(crate) type Place<'a> = (&'a str, Option<&'a str>);

impl ProjectRef {
    pub(crate) fn place(&self) -> Place<'_> {
        (&self.organization, Some(&self.project))
    }
}

/// All accounts. At run time, only the control interface changes them, and records each change in
/// the audit log.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Accounts {
    /// The organizations by their ids.
    pub(crate) organizations: BTreeMap<Arc<str>, OrganizationRecord>,
    /// The keys by their digests.
    pub(crate) keys: BTreeMap<String, Key>,
    /// The keys themselves by their digests, so that they can be revealed. For a key from a
    /// snapshot, the key itself may be unknown.
    #[serde(skip)]
    pub(crate) secrets: HashMap<String, Secret<String>>,
    /// The number of keys that were ever created, which is also the number of the last one.
    pub(crate) keys_made: u64,
    pub(crate) ledger: Ledger,
    audit: NumberedLog<AuditEntry>,
}

/// A stored organization.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OrganizationRecord {
    pub(crate) name: String,
    pub(crate) owner: String,
    pub(crate) members: BTreeMap<String, Member>,
    /// The projects by their ids.
    pub(crate) projects: BTreeMap<Arc<str>, ProjectRecord>,
    /// The finetunes by their names.
    pub(crate) finetunes: BTreeMap<String, StoredFinetune>,
}

/// A stored project.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProjectRecord {
    pub(crate) name: String,
    pub(crate) endpoints: Option<Vec<String>>,
    pub(crate) limits: Limits,
    pub(crate) max_active_tasks: Option<usize>,
    pub(crate) spending: Spending,
}

/// The organization, project, key, member or finetune does not exist.
pub(crate) fn unknown(what: &str, id: &str) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, format!("unknown {what} `{id}`"))
}

impl OrganizationRecord {
    pub(crate) fn project_mut(&mut self, id: &str) -> Result<&mut ProjectRecord, Problem> {
        self.projects.get_mut(id).ok_or_else(|| unknown("project", id))
    }
}

impl Accounts {
    pub(crate) fn organization_mut(
        &mut self,
        id: &str,
    ) -> Result<&mut OrganizationRecord, Problem> {
        self.organizations.get_mut(id).ok_or_else(|| unknown("organization", id))
    }

    /// The digest of the key with this id, and its project.
    pub(crate) fn key(&self, id: &str) -> Option<(String, ProjectRef)> {
        let (digest, key) = self.keys.iter().find(|(_, key)| key.id() == id)?;
        Some((digest.clone(), key.project.clone()))
    }

    /// Whether an actor has a permission in an organization, or in one of its projects.
    pub(crate) fn may(
        &self,
        actor: &Actor,
        (organization, project): Place<'_>,
        permission: Permission,
    ) -> bool {
        let Actor::User(user) = actor else { return true };
        let Some(organization) = self.organizations.get(organization) else { return false };
        let role = organization.members.get(user).map(|member| {
            let own = project.and_then(|project| member.projects.get(project));
            *own.unwrap_or(&member.role)
        });
        organization.owner == *user || role.is_some_and(|role| role.permits(permission))
    }

    /// Returns the project to which a request's key belongs, or why the request is rejected.
    pub(crate) fn caller(&self, headers: &HeaderMap) -> Result<ProjectRef, String> {
        let name = key_header();
        let given = headers.get(name);
        let given =
            given.ok_or_else(|| format!("Not authenticated: the header {name} is missing"))?;
        let key = given.to_str().ok().and_then(|key| self.keys.get(&digest(key)));
        let key = key.ok_or_else(|| format!("Not authenticated: the key in {name} is unknown"))?;
        Ok(key.project.clone())
    }

    /// Whether the key belongs to a project.
    pub(crate) fn knows_key(&self, key: &str) -> bool {
        self.keys.contains_key(&digest(key))
    }

    /// Whether a project has access to an operation, which is named as in its path but without
    /// `/v1/`.
    pub(crate) fn admits(&self, project: &ProjectRef, operation: &str) -> bool {
        self.project(project).is_some_and(|project| match &project.endpoints {
            None => true,
            Some(patterns) => patterns.iter().any(|pattern| names::matches(pattern, operation)),
        })
    }

    /// Charges a project's organization for a task that it can pay for: see
    /// [`check_payment`](Self::check_payment).
    pub(crate) fn charge(
        &mut self,
        project: &ProjectRef,
        cost: Credits,
        unix: Duration,
        task: &str,
    ) -> Result<(), Problem> {
        let account = Account::Organization(Arc::clone(&project.organization));
        let purpose = (Arc::clone(&project.project), task.to_owned());
        self.ledger.transfer(unix, account, Account::Charged, cost, Some(purpose))?;
        if let Some(record) = self.project_mut(project) {
            record.spending.add(cost, unix);
        }
        Ok(())
    }

    /// Checks that a project can pay for a task now, or returns why it cannot.
    pub(crate) fn check_payment(
        &self,
        project: &ProjectRef,
        cost: Credits,
        unix: Duration,
    ) -> Result<(), String> {
        if let Some(ProjectRecord { limits, spending, .. }) = self.project(project) {
            let spent = spending.at(unix);
            for (period, limit, spent) in [
                ("daily", limits.daily, spent.daily),
                ("weekly", limits.weekly, spent.weekly),
                ("monthly", limits.monthly, spent.monthly),
            ] {
                if let Some(limit) = limit.filter(|limit| spent + cost > *limit) {
                    return Err(format!(
                        "Spending limit: the submission costs {cost}, which would exceed the \
                         project's {period} limit of {limit}"
                    ));
                }
            }
        }
        let account = Account::Organization(Arc::clone(&project.organization));
        let balance = self.ledger.balance(&account);
        if balance < cost {
            return Err(format!(
                "Insufficient credits: the submission costs {cost}, and the organization has \
                 {balance}"
            ));
        }
        Ok(())
    }

    /// Resets the spending and the usage of a project to zero. Returns whether the project exists.
    pub(crate) fn forget_spending(&mut self, project: &ProjectRef) -> bool {
        self.project_mut(project).map(|record| record.spending = Spending::default()).is_some()
    }

    /// The sum of everything that was charged.
    pub(crate) fn charged(&self) -> Credits {
        self.ledger.balance(&Account::Charged)
    }

    /// Checks accounts that were read from a snapshot. `check_pattern` checks the name of an
    /// endpoint.
    pub(crate) fn check(
        &self,
        check_pattern: impl Fn(&str) -> Result<(), String>,
    ) -> Result<(), String> {
        for (id, organization) in &self.organizations {
            let wrong = |problem| format!("the organization `{id}`: {problem}");
            organization.check(id).map_err(wrong)?;
            let projects = organization.projects.values();
            let mut patterns = projects.flat_map(|project| project.endpoints.iter().flatten());
            patterns.try_for_each(|pattern| check_pattern(pattern)).map_err(wrong)?;
        }
        let mut numbers = BTreeSet::new();
        let is_valid = |key: &Key| {
            (1..=self.keys_made).contains(&key.number)
                && numbers.insert(key.number)
                && self.project(&key.project).is_some()
        };
        if self.keys_made > MAX_COUNT || !self.keys.values().all(is_valid) {
            let problem =
                "a key has no project, or its number is not a unique one up to `keys_made`";
            return Err(problem.to_owned());
        }
        if !self.audit.is_in_order(|entry| entry.number) {
            return Err("the numbers of the audit log's entries do not ascend".to_owned());
        }
        Ok(self.ledger.check(|id| self.organizations.contains_key(id))?)
    }

    pub(crate) fn project(&self, project: &ProjectRef) -> Option<&ProjectRecord> {
        self.organizations.get(&project.organization)?.projects.get(&project.project)
    }

    fn project_mut(&mut self, project: &ProjectRef) -> Option<&mut ProjectRecord> {
        self.organizations.get_mut(&project.organization)?.projects.get_mut(&project.project)
    }
}
