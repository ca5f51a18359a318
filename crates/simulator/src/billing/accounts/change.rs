//! Changes at run time. Each change requires a permission of the actor, and is written to the audit
//! log.

use std::{sync::Arc, time::Duration};

use axum::http::StatusCode;

use super::{
    Accounts, Actor, Finetune, Limits, Member, OrganizationRecord, Permission, ProjectKey,
    ProjectRecord, ProjectRef, Role,
    finetunes::{StoredFinetune, is_finetune_name},
    is_sendable,
    start::id_of,
};
use crate::{
    billing::{credits::Credits, ledger::Account},
    http::response::Problem,
    runtime::chance::{Chance, hex},
};

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

/// An organization, or one of its projects.
type Place<'a> = (&'a str, Option<&'a str>);

impl ProjectRef {
    fn place(&self) -> Place<'_> {
        (&self.organization, Some(&self.project))
    }
}

impl Accounts {
    /// Whether an actor has a permission in an organization, or in one of its projects.
    pub(super) fn may(
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
}

impl Editor<'_> {
    /// Makes the change if the actor has the permission. Records the attempt in either case.
    fn change<T>(
        self,
        place: Place<'_>,
        permission: Permission,
        action: String,
        change: impl FnOnce(&mut Accounts) -> ChangeResult<T>,
    ) -> ChangeResult<T> {
        let (organization, _) = place;
        let Self { accounts, actor, unix } = self;
        accounts.organization_mut(organization)?;
        let outcome = if accounts.may(&actor, place, permission) {
            change(accounts)
        } else {
            let name = actor.name();
            let detail = format!("{name} is not allowed to {action} in `{organization}`");
            Err(Problem::forbidden(detail))
        };
        accounts.record(unix, actor.name(), Some(organization), action, outcome.is_ok());
        outcome
    }

    /// Records what the actor has changed, in an organization or in the whole simulator.
    pub(crate) fn record(self, organization: Option<&str>, action: String) {
        self.accounts.record(self.unix, self.actor.name(), organization, action, true);
    }
}

/// Changes to organizations: their credits, their members and their finetunes.
impl Editor<'_> {
    /// Creates an organization without credits. Its owner is the actor, or `owner` if the actor is
    /// the operator.
    pub(crate) fn create_organization(
        self,
        name: &str,
        owner: Option<String>,
    ) -> ChangeResult<Arc<str>> {
        let id = new_id(name)?;
        let owner = match (&self.actor, owner) {
            (Actor::User(user), Some(owner)) if owner != *user => {
                let detail = "only the operator can create an organization for another user";
                return Err(Problem::forbidden(detail));
            }
            (Actor::User(user), _) => user.clone(),
            (Actor::Operator, Some(owner)) => owner,
            (Actor::Operator, None) => {
                return Err(Problem::invalid("an organization needs an owner"));
            }
        };
        let Self { accounts, actor, unix } = self;
        let is_new = !accounts.organizations.contains_key(&id);
        let action = format!("create the organization `{name}`");
        accounts.record(unix, actor.name(), Some(&*id), action, is_new);
        if !is_new {
            return Err(Problem::conflict(format!("the organization `{id}` already exists")));
        }
        let organization =
            OrganizationRecord { name: name.to_owned(), owner, ..Default::default() };
        accounts.organizations.insert(Arc::clone(&id), organization);
        Ok(id)
    }

    /// Adds credits to an organization, as if it had bought them.
    pub(crate) fn grant(self, organization: &str, amount: Credits) -> ChangeResult {
        let (unix, action) = (self.unix, format!("add {amount} credits"));
        self.change((organization, None), Permission::ManageCredits, action, |accounts| {
            let to = Account::Organization(organization.into());
            accounts.ledger.transfer(unix, Account::Issued, to, amount, None)
        })
    }

    /// Moves credits between two organizations of the same owner. Only that owner and the operator
    /// may do that. The audit logs of both organizations record it.
    pub(crate) fn transfer(self, from: &str, to: &str, amount: Credits) -> ChangeResult {
        let Self { accounts, actor, unix } = self;
        let owner = accounts.organization_mut(from)?.owner.clone();
        let same_owner = accounts.organization_mut(to)?.owner == owner;
        let allowed = same_owner && (actor == Actor::Operator || actor.name() == owner);
        let moved = if !allowed {
            let detail = "only the owner of both organizations can transfer credits between them";
            Err(Problem::forbidden(detail))
        } else if amount == Credits::ZERO {
            Err(Problem::invalid("the amount of a transfer must be above zero"))
        } else if from == to {
            let detail = "source and destination are the same organization";
            Err(Problem::invalid(detail))
        } else {
            let [from, to] = [from, to].map(|id| Account::Organization(id.into()));
            accounts.ledger.transfer(unix, from, to, amount, None)
        };
        let done = moved.is_ok();
        for (organization, action) in [
            (from, format!("transfer {amount} credits to `{to}`")),
            (to, format!("receive {amount} credits from `{from}`")),
        ] {
            accounts.record(unix, actor.name(), Some(organization), action, done);
        }
        moved
    }

    /// Gives a user a role in an organization, or in one of its projects.
    pub(crate) fn set_role(
        self,
        organization: &str,
        project: Option<&str>,
        user: &str,
        role: Role,
    ) -> ChangeResult {
        let place = project.map_or("the organization".to_owned(), |project| format!("`{project}`"));
        let action = format!("give `{user}` the role {role:?} in {place}");
        self.change((organization, None), Permission::ManageMembers, action, |accounts| {
            let organization = accounts.organization_mut(organization)?;
            let Some(project) = project else {
                let new = || Member { user: user.to_owned(), role, projects: Default::default() };
                organization.members.entry(user.to_owned()).or_insert_with(new).role = role;
                return Ok(());
            };
            if !organization.projects.contains_key(project) {
                return Err(unknown("project", project));
            }
            let member = organization.members.get_mut(user);
            let member = member.ok_or_else(|| unknown("member", user))?;
            member.projects.insert(project.to_owned(), role);
            Ok(())
        })
    }

    /// Removes a user from an organization.
    pub(crate) fn remove_member(self, organization: &str, user: &str) -> ChangeResult {
        let action = format!("remove the member `{user}`");
        self.change((organization, None), Permission::ManageMembers, action, |accounts| {
            let removed = accounts.organization_mut(organization)?.members.remove(user);
            removed.map(drop).ok_or_else(|| unknown("member", user))
        })
    }

    /// Adds a finetune, or sets whether an existing one is shared, even while it is trained.
    pub(crate) fn set_finetune(self, organization: &str, finetune: Finetune) -> ChangeResult {
        if !is_finetune_name(&finetune.name) {
            let detail = "a finetune name must not be empty or contain a slash";
            return Err(Problem::invalid(detail));
        }
        let shared = finetune.shared;
        let how = if shared { "shared" } else { "private" };
        let action = format!("set the {how} finetune `{}`", finetune.name);
        self.change((organization, None), Permission::ManageFinetunes, action, |accounts| {
            let finetunes = &mut accounts.organization_mut(organization)?.finetunes;
            let stored = finetunes.entry(finetune.name.clone());
            stored.or_insert_with(|| StoredFinetune::usable(finetune)).finetune.shared = shared;
            Ok(())
        })
    }

    /// Removes a finetune. Requests that name it are rejected from now on.
    pub(crate) fn remove_finetune(self, organization: &str, name: &str) -> ChangeResult {
        let action = format!("remove the finetune `{name}`");
        self.change((organization, None), Permission::ManageFinetunes, action, |accounts| {
            let removed = accounts.organization_mut(organization)?.finetunes.remove(name);
            removed.map(drop).ok_or_else(|| unknown("finetune", name))
        })
    }
}

/// Changes to projects and their keys.
impl Editor<'_> {
    /// Creates a project with access to all endpoints and no limits.
    pub(crate) fn create_project(self, organization: &str, name: &str) -> ChangeResult<Arc<str>> {
        let id = new_id(name)?;
        let action = format!("create the project `{name}`");
        self.change((organization, None), Permission::ManageProjects, action, |accounts| {
            let organization = accounts.organization_mut(organization)?;
            if organization.projects.contains_key(&id) {
                return Err(Problem::conflict(format!("the project `{id}` already exists")));
            }
            let project = ProjectRecord { name: name.to_owned(), ..Default::default() };
            organization.projects.insert(Arc::clone(&id), project);
            Ok(id)
        })
    }

    /// Sets the spending limits of a project.
    pub(crate) fn set_limits(self, at: &ProjectRef, limits: Limits) -> ChangeResult {
        let shown = |limit: Option<Credits>| {
            limit.map_or_else(|| "none".to_owned(), |credits| credits.to_string())
        };
        let [daily, weekly, monthly] = [limits.daily, limits.weekly, limits.monthly].map(shown);
        let action = format!(
            "set the limits of `{}`: daily {daily}, weekly {weekly}, monthly {monthly}",
            at.project
        );
        self.change(at.place(), Permission::SetLimits, action, |accounts| {
            accounts.project_to_change(at)?.limits = limits;
            Ok(())
        })
    }

    /// Sets the endpoints to which a project has access. `None` stands for all endpoints.
    pub(crate) fn set_endpoints(
        self,
        at: &ProjectRef,
        endpoints: Option<Vec<String>>,
    ) -> ChangeResult {
        let shown = endpoints.as_ref().map_or("all".to_owned(), |patterns| patterns.join(", "));
        let action = format!("set the endpoints of `{}`: {shown}", at.project);
        self.change(at.place(), Permission::ManageProjects, action, |accounts| {
            accounts.project_to_change(at)?.endpoints = endpoints;
            Ok(())
        })
    }

    /// Sets the maximum number of active tasks of a project. `None` stands for the configured
    /// default.
    pub(crate) fn set_max_active_tasks(self, at: &ProjectRef, most: Option<usize>) -> ChangeResult {
        let shown = most.map_or("the default".to_owned(), |most| most.to_string());
        let action = format!("set the maximum of active tasks of `{}`: {shown}", at.project);
        self.change(at.place(), Permission::ManageProjects, action, |accounts| {
            accounts.project_to_change(at)?.max_active_tasks = most;
            Ok(())
        })
    }

    /// Creates a key, which is `given` or random. Returns the id of the key, and the key itself.
    pub(crate) fn create_key(
        self,
        at: &ProjectRef,
        name: &str,
        given: Option<String>,
        chance: Chance,
    ) -> ChangeResult<(String, String)> {
        let number = self.accounts.keys_made;
        let secret = given
            .unwrap_or_else(|| format!("kiln-{}", hex(&chance.bytes("api key", number)[..16])));
        if !is_sendable(&secret) {
            let detail = "a key must consist of visible ASCII characters";
            return Err(Problem::invalid(detail));
        }
        let action = format!("create the key `{name}` in `{}`", at.project);
        self.change(at.place(), Permission::ManageKeys, action, |accounts| {
            accounts.project_to_change(at)?;
            let key = ProjectKey { name: name.to_owned(), key: secret.clone().into() };
            let id = accounts.add_key(key, at.clone());
            let id = id.ok_or_else(|| Problem::conflict("the key already exists"));
            Ok((id?, secret))
        })
    }

    /// Returns the key with this id.
    pub(crate) fn reveal_key(self, id: &str) -> ChangeResult<String> {
        self.change_key(id, format!("reveal the key `{id}`"), |accounts, digest| {
            let secret = accounts.secrets.get(digest).map(|secret| secret.expose().clone());
            secret.ok_or_else(|| {
                let detail = format!("the simulator has only the digest of the key `{id}`");
                Problem::conflict(detail)
            })
        })
    }

    /// Deletes a key. From now on, requests with it are rejected.
    pub(crate) fn revoke_key(self, id: &str) -> ChangeResult {
        self.change_key(id, format!("revoke the key `{id}`"), |accounts, digest| {
            accounts.keys.remove(digest);
            Ok(())
        })
    }

    fn change_key<T>(
        self,
        id: &str,
        action: String,
        change: impl FnOnce(&mut Accounts, &str) -> ChangeResult<T>,
    ) -> ChangeResult<T> {
        let found = self.accounts.keys.iter().find(|(_, key)| key.id() == id);
        let (digest, key) = found.ok_or_else(|| unknown("key", id))?;
        let (digest, at) = (digest.clone(), key.project.clone());
        self.change(at.place(), Permission::ManageKeys, action, |accounts| {
            change(accounts, &digest)
        })
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
