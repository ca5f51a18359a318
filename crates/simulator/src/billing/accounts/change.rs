//! Changes at run time. Each change requires a permission of the actor, and is written to the audit
//! log.

mod organizations;
mod projects;

use std::{sync::Arc, time::Duration};

use axum::http::StatusCode;

use super::{
    Accounts, OrganizationRecord, ProjectRecord, ProjectRef, audit::Actor, settings::Permission,
    start::id_of,
};
use crate::http::response::Problem;

/// The organization, project, key, member or finetune does not exist.
fn unknown(what: &str, id: &str) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, format!("unknown {what} `{id}`"))
}

/// Makes one change to the accounts, as this actor and at this time.
pub(crate) struct Editor<'a> {
    pub(crate) accounts: &'a mut Accounts,
    pub(crate) actor: Actor,
    pub(crate) unix: Duration,
}

type ChangeResult<T = ()> = Result<T, Problem>;

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

impl Editor<'_> {
    /// Makes the change if the actor has the permission. Records the attempt in either case.
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
        let refusal =
            format!("{} is not allowed to {action} in `{organization}`", self.actor.name());
        self.write(organization, action, |accounts| {
            if allowed { change(accounts) } else { Err(Problem::forbidden(refusal)) }
        })
    }

    /// Records what the actor has changed, in an organization or in the whole simulator.
    pub(crate) fn record(self, organization: Option<&str>, action: String) {
        self.accounts.record(self.unix, self.actor.name(), organization, action, true);
    }

    fn write<T>(
        self,
        organization: &str,
        action: String,
        change: impl FnOnce(&mut Accounts) -> ChangeResult<T>,
    ) -> ChangeResult<T> {
        let Self { accounts, actor, unix } = self;
        let outcome = change(accounts);
        accounts.record(unix, actor.name(), Some(organization), action, outcome.is_ok());
        outcome
    }
}

/// Derives the id of a new organization or project from its name.
fn new_id(name: &str) -> ChangeResult<Arc<str>> {
    id_of(name).ok_or_else(|| Problem::invalid("the name must contain a letter or digit"))
}

impl Accounts {
    fn organization_mut(&mut self, id: &str) -> ChangeResult<&mut OrganizationRecord> {
        self.organizations.get_mut(id).ok_or_else(|| unknown("organization", id))
    }

    fn project_to_change(&mut self, at: &ProjectRef) -> ChangeResult<&mut ProjectRecord> {
        self.project_mut(at).ok_or_else(|| unknown("project", &at.project))
    }
}
