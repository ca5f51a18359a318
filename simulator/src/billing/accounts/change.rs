//! Changes at run time. An actor needs permission for each one, and each is written to the audit
//! log.

mod credits;
mod organizations;
mod projects;

use std::time::Duration;

use super::{
    Accounts, OrganizationRecord, ProjectRecord, ProjectRef, audit::Actor, role::Permission,
};

/// Why a change was not made.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AccountError {
    pub(crate) kind: AccountErrorKind,
    pub(crate) detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccountErrorKind {
    /// The organization, project, key, member or finetune does not exist.
    Unknown,
    /// The actor's role does not permit it.
    Forbidden,
    /// It already exists, or the balance is too low.
    Conflict,
    /// A value is invalid.
    Invalid,
}

impl AccountError {
    pub(crate) fn new(kind: AccountErrorKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }

    fn unknown(what: &str, id: &str) -> Self {
        Self::new(AccountErrorKind::Unknown, format!("unknown {what} `{id}`"))
    }
}

/// A change by an actor at a time.
pub(crate) struct Act<'a> {
    pub(crate) accounts: &'a mut Accounts,
    pub(crate) actor: Actor,
    pub(crate) unix: Duration,
}

type ChangeResult<T = ()> = Result<T, AccountError>;

impl Accounts {
    /// Whether an actor has a permission in an organization, or in one of its projects.
    pub(super) fn may(
        &self,
        actor: &Actor,
        organization: &str,
        project: Option<&str>,
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
}

impl Act<'_> {
    /// Makes the change if the actor has the permission, and records the attempt in either case.
    fn change<T>(
        self,
        organization: &str,
        project: Option<&str>,
        permission: Permission,
        action: String,
        change: impl FnOnce(&mut Accounts) -> ChangeResult<T>,
    ) -> ChangeResult<T> {
        self.accounts.organization_mut(organization)?;
        let allowed = self.accounts.may(&self.actor, organization, project, permission);
        let refusal = (!allowed).then(|| {
            let detail =
                format!("{} is not allowed to {action} in `{organization}`", self.actor.name());
            AccountError::new(AccountErrorKind::Forbidden, detail)
        });
        self.write(organization, action, |accounts| match refusal {
            Some(refusal) => Err(refusal),
            None => change(accounts),
        })
    }

    /// Records what the actor has changed in the simulator, or for an organization.
    pub(crate) fn record(self, organization: Option<&str>, action: String) {
        self.accounts.audit.write(self.unix, self.actor.name(), organization, action, true);
    }

    fn write<T>(
        self,
        organization: &str,
        action: String,
        change: impl FnOnce(&mut Accounts) -> ChangeResult<T>,
    ) -> ChangeResult<T> {
        let outcome = change(self.accounts);
        self.accounts.audit.write(
            self.unix,
            self.actor.name(),
            Some(organization),
            action,
            outcome.is_ok(),
        );
        outcome
    }
}

impl Accounts {
    fn organization_mut(&mut self, id: &str) -> ChangeResult<&mut OrganizationRecord> {
        self.organizations.get_mut(id).ok_or_else(|| AccountError::unknown("organization", id))
    }

    fn project_mut(&mut self, at: &ProjectRef) -> ChangeResult<&mut ProjectRecord> {
        let project = self.organization_mut(&at.organization)?.projects.get_mut(&at.project);
        project.ok_or_else(|| AccountError::unknown("project", &at.project))
    }
}
