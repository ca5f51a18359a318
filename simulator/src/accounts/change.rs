//! Changes at run time, each by an actor who must be allowed to, and each written to the audit log.

use std::sync::Arc;
use std::time::Duration;

use super::audit::Actor;
use super::key::is_sendable;
use super::role::{Permission, Role};
use super::settings::{Finetune, Limits, Member, ProjectKey};
use super::start::{id_of, is_finetune_name};
use super::{Accounts, OrganizationRecord, ProjectRecord, ProjectRef};
use crate::chance::{Chance, hex};
use crate::credits::Credits;
use crate::ledger::Account;

/// Why a change was not made.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AccountError {
    pub(crate) problem: Problem,
    pub(crate) detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// There is no such organization, project, key, member or finetune.
    Unknown,
    /// The actor's role does not permit it.
    Forbidden,
    /// It is there already, or credits do not suffice.
    Conflict,
    /// A value cannot be.
    Invalid,
}

impl AccountError {
    pub(crate) fn new(problem: Problem, detail: impl Into<String>) -> Self {
        Self { problem, detail: detail.into() }
    }

    fn unknown(what: &str, id: &str) -> Self {
        Self::new(Problem::Unknown, format!("there is no {what} `{id}`"))
    }
}

/// A change, with who makes it and when.
pub(crate) struct Act<'a> {
    pub(crate) accounts: &'a mut Accounts,
    pub(crate) actor: Actor,
    pub(crate) unix: Duration,
}

type Outcome<T = ()> = Result<T, AccountError>;

impl Accounts {
    /// Whether an actor may do something in an organization, or in one of its projects.
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
    /// Opens an organization without credits; it belongs to the actor, or to `owner` where the
    /// operator acts.
    pub(crate) fn create_organization(
        self,
        name: &str,
        owner: Option<String>,
    ) -> Outcome<Arc<str>> {
        let id = id_of(name).ok_or_else(|| {
            AccountError::new(Problem::Invalid, "the name has no letter or digit")
        })?;
        let owner = match &self.actor {
            Actor::User(user) if owner.as_ref().is_none_or(|owner| owner == user) => user.clone(),
            Actor::User(_) => {
                return Err(AccountError::new(
                    Problem::Forbidden,
                    "only the operator gives organizations to others",
                ));
            }
            Actor::Operator => owner.ok_or_else(|| {
                AccountError::new(Problem::Invalid, "an organization needs an owner")
            })?,
        };
        let action = format!("create the organization `{name}`");
        self.write(&id.clone(), action, |accounts| {
            if accounts.organizations.contains_key(&id) {
                return Err(AccountError::new(
                    Problem::Conflict,
                    format!("there is an organization `{id}` already"),
                ));
            }
            accounts
                .organizations
                .insert(Arc::clone(&id), OrganizationRecord::new(name.to_owned(), owner));
            Ok(id)
        })
    }

    /// Makes a project, which reaches all endpoints and has no limits.
    pub(crate) fn create_project(self, organization: &str, name: &str) -> Outcome<Arc<str>> {
        let id = id_of(name).ok_or_else(|| {
            AccountError::new(Problem::Invalid, "the name has no letter or digit")
        })?;
        let action = format!("create the project `{name}`");
        self.change(organization, None, Permission::ManageProjects, action, |accounts| {
            let organization = accounts.organization_mut(organization)?;
            if organization.projects.contains_key(&id) {
                return Err(AccountError::new(
                    Problem::Conflict,
                    format!("there is a project `{id}` already"),
                ));
            }
            organization.projects.insert(Arc::clone(&id), ProjectRecord::new(name.to_owned()));
            Ok(id)
        })
    }

    /// Sets what a project may spend.
    pub(crate) fn set_limits(self, at: &ProjectRef, limits: Limits) -> Outcome {
        let shown =
            |limit: Option<Credits>| limit.map_or("none".to_owned(), |limit| limit.to_string());
        let action = format!(
            "set the limits of `{}`: daily {}, weekly {}, monthly {}",
            at.project,
            shown(limits.daily),
            shown(limits.weekly),
            shown(limits.monthly)
        );
        self.change_project(at, Permission::SetLimits, action, |project| project.limits = limits)
    }

    /// Sets the endpoints that a project reaches; `None` is all.
    pub(crate) fn set_endpoints(self, at: &ProjectRef, endpoints: Option<Vec<String>>) -> Outcome {
        let shown = endpoints.as_ref().map_or("all".to_owned(), |patterns| patterns.join(", "));
        let action = format!("set the endpoints of `{}`: {shown}", at.project);
        self.change_project(at, Permission::ManageProjects, action, |project| {
            project.endpoints = endpoints
        })
    }

    /// Sets how many active tasks a project may have; `None` is as many as the configuration says.
    pub(crate) fn set_max_active_tasks(self, at: &ProjectRef, most: Option<usize>) -> Outcome {
        let shown = most.map_or("the default".to_owned(), |most| most.to_string());
        let action = format!("set the cap on active tasks of `{}`: {shown}", at.project);
        self.change_project(at, Permission::ManageProjects, action, |project| {
            project.max_active_tasks = most
        })
    }

    /// Makes a key, which is `given` or drawn, and gives its id and itself.
    pub(crate) fn create_key(
        self,
        at: &ProjectRef,
        name: &str,
        given: Option<String>,
        chance: Chance,
    ) -> Outcome<(String, String)> {
        let number = self.accounts.keys_made;
        let secret = given
            .unwrap_or_else(|| format!("kiln-{}", hex(&chance.bytes("api key", number)[..16])));
        if !is_sendable(&secret) {
            let detail = "a key is of visible ASCII characters, one at least";
            return Err(AccountError::new(Problem::Invalid, detail));
        }
        let action = format!("make the key `{name}` in `{}`", at.project);
        self.change(
            &at.organization,
            Some(&at.project),
            Permission::ManageKeys,
            action,
            |accounts| {
                accounts.project_mut(at)?;
                let key = ProjectKey { name: name.to_owned(), key: secret.clone() };
                let id = accounts.add_key(key, at.clone()).ok_or_else(|| {
                    AccountError::new(Problem::Conflict, "the key is known already")
                })?;
                Ok((id, secret))
            },
        )
    }

    /// The key itself.
    pub(crate) fn reveal_key(self, id: &str) -> Outcome<String> {
        let at = self.project_of_key(id)?;
        let action = format!("reveal the key `{id}`");
        self.change(
            &at.organization,
            Some(&at.project),
            Permission::ManageKeys,
            action,
            |accounts| {
                let key = accounts.keys.get(id).ok_or_else(|| AccountError::unknown("key", id))?;
                Ok(key.secret.clone())
            },
        )
    }

    /// Forgets a key: it is refused from now on.
    pub(crate) fn revoke_key(self, id: &str) -> Outcome {
        let at = self.project_of_key(id)?;
        let action = format!("revoke the key `{id}`");
        self.change(
            &at.organization,
            Some(&at.project),
            Permission::ManageKeys,
            action,
            |accounts| {
                let key =
                    accounts.keys.remove(id).ok_or_else(|| AccountError::unknown("key", id))?;
                accounts.key_ids.remove(&key.secret);
                Ok(())
            },
        )
    }

    /// Gives a user a role in an organization, or in one of its projects.
    pub(crate) fn set_role(
        self,
        organization: &str,
        project: Option<&str>,
        user: &str,
        role: Role,
    ) -> Outcome {
        let place = project.map_or("the organization".to_owned(), |project| format!("`{project}`"));
        let action = format!("give `{user}` the role {role:?} in {place}");
        self.change(organization, None, Permission::ManageMembers, action, |accounts| {
            let organization = accounts.organization_mut(organization)?;
            match project {
                None => {
                    let new =
                        || Member { user: user.to_owned(), role, projects: Default::default() };
                    organization.members.entry(user.to_owned()).or_insert_with(new).role = role;
                }
                Some(project) => {
                    if !organization.projects.contains_key(project) {
                        return Err(AccountError::unknown("project", project));
                    }
                    let member = organization.members.get_mut(user);
                    let member = member.ok_or_else(|| AccountError::unknown("member", user))?;
                    member.projects.insert(project.to_owned(), role);
                }
            }
            Ok(())
        })
    }

    /// Takes every role in an organization from a user.
    pub(crate) fn remove_member(self, organization: &str, user: &str) -> Outcome {
        let action = format!("remove the member `{user}`");
        self.change(organization, None, Permission::ManageMembers, action, |accounts| {
            let removed = accounts.organization_mut(organization)?.members.remove(user);
            removed.map(drop).ok_or_else(|| AccountError::unknown("member", user))
        })
    }

    /// Adds a finetune, or changes whether it is shared.
    pub(crate) fn set_finetune(self, organization: &str, finetune: Finetune) -> Outcome {
        if !is_finetune_name(&finetune.name) {
            let detail = "a finetune's name is not empty and has no slash";
            return Err(AccountError::new(Problem::Invalid, detail));
        }
        let shared = if finetune.shared { "shared" } else { "private" };
        let action = format!("set the {shared} finetune `{}`", finetune.name);
        self.change(organization, None, Permission::ManageFinetunes, action, |accounts| {
            accounts
                .organization_mut(organization)?
                .finetunes
                .insert(finetune.name.clone(), finetune);
            Ok(())
        })
    }

    /// Removes a finetune: requests that name it are refused from now on.
    pub(crate) fn remove_finetune(self, organization: &str, name: &str) -> Outcome {
        let action = format!("remove the finetune `{name}`");
        self.change(organization, None, Permission::ManageFinetunes, action, |accounts| {
            let removed = accounts.organization_mut(organization)?.finetunes.remove(name);
            removed.map(drop).ok_or_else(|| AccountError::unknown("finetune", name))
        })
    }

    /// Adds credits to an organization, as if it had bought them.
    pub(crate) fn grant(self, organization: &str, amount: Credits) -> Outcome {
        let (unix, action) = (self.unix, format!("add {amount} credits"));
        self.change(organization, None, Permission::ManageCredits, action, |accounts| {
            accounts.move_credits(
                unix,
                Account::Issued,
                Account::Organization(organization.into()),
                amount,
            )
        })
    }

    /// Moves credits between two organizations of one owner, who alone may, beside the operator. It
    /// is written to the audit logs of both.
    pub(crate) fn transfer(self, from: &str, to: &str, amount: Credits) -> Outcome {
        let Self { accounts, actor, unix } = self;
        let owners = (
            accounts.organization_mut(from)?.owner.clone(),
            accounts.organization_mut(to)?.owner.clone(),
        );
        let allowed = owners.0 == owners.1
            && match &actor {
                Actor::Operator => true,
                Actor::User(user) => *user == owners.0,
            };
        let moved = if !allowed {
            let detail =
                "credits are transferred between organizations of one owner, by that owner";
            Err(AccountError::new(Problem::Forbidden, detail))
        } else if from == to {
            Err(AccountError::new(Problem::Invalid, "both are the same organization"))
        } else {
            let [from, to] = [from, to].map(|id| Account::Organization(id.into()));
            accounts.move_credits(unix, from, to, amount)
        };
        let done = moved.is_ok();
        for (organization, action) in [
            (from, format!("transfer {amount} credits to `{to}`")),
            (to, format!("receive {amount} credits from `{from}`")),
        ] {
            accounts.audit.write(unix, &actor, organization, action, done);
        }
        moved
    }

    fn change_project(
        self,
        at: &ProjectRef,
        permission: Permission,
        action: String,
        change: impl FnOnce(&mut ProjectRecord),
    ) -> Outcome {
        self.change(&at.organization, Some(&at.project), permission, action, |accounts| {
            change(accounts.project_mut(at)?);
            Ok(())
        })
    }

    /// Does what the actor may do, and writes it down, as well as what was refused.
    fn change<T>(
        self,
        organization: &str,
        project: Option<&str>,
        permission: Permission,
        action: String,
        change: impl FnOnce(&mut Accounts) -> Outcome<T>,
    ) -> Outcome<T> {
        self.accounts.organization_mut(organization)?;
        let allowed = self.accounts.may(&self.actor, organization, project, permission);
        let refusal = (!allowed).then(|| {
            let detail = format!("{} may not {action} in `{organization}`", self.actor.name());
            AccountError::new(Problem::Forbidden, detail)
        });
        self.write(organization, action, |accounts| match refusal {
            Some(refusal) => Err(refusal),
            None => change(accounts),
        })
    }

    fn write<T>(
        self,
        organization: &str,
        action: String,
        change: impl FnOnce(&mut Accounts) -> Outcome<T>,
    ) -> Outcome<T> {
        let outcome = change(self.accounts);
        self.accounts.audit.write(self.unix, &self.actor, organization, action, outcome.is_ok());
        outcome
    }

    fn project_of_key(&self, id: &str) -> Outcome<ProjectRef> {
        let key = self.accounts.keys.get(id).ok_or_else(|| AccountError::unknown("key", id))?;
        Ok(key.project.clone())
    }
}

impl Accounts {
    fn organization_mut(&mut self, id: &str) -> Outcome<&mut OrganizationRecord> {
        self.organizations.get_mut(id).ok_or_else(|| AccountError::unknown("organization", id))
    }

    fn project_mut(&mut self, at: &ProjectRef) -> Outcome<&mut ProjectRecord> {
        let project = self.organization_mut(&at.organization)?.projects.get_mut(&at.project);
        project.ok_or_else(|| AccountError::unknown("project", &at.project))
    }

    fn move_credits(
        &mut self,
        unix: Duration,
        from: Account,
        to: Account,
        amount: Credits,
    ) -> Outcome {
        let short = |_| {
            AccountError::new(Problem::Conflict, format!("there are less than {amount} credits"))
        };
        self.ledger.transfer(unix, from, to, amount, None).map_err(short)
    }
}
