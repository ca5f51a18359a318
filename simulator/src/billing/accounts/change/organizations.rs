//! Changes to organizations, their members and their finetunes.

use std::sync::Arc;

use super::{AccountError, AccountErrorKind, Act, ChangeResult};
use crate::billing::accounts::{
    Finetune, Member, OrganizationRecord, Permission, Role,
    audit::Actor,
    finetunes::{StoredFinetune, is_finetune_name},
    start::id_of,
};

impl Act<'_> {
    /// Creates an organization without credits. It belongs to the actor, or to `owner` if the actor
    /// is the operator.
    pub(crate) fn create_organization(
        self,
        name: &str,
        owner: Option<String>,
    ) -> ChangeResult<Arc<str>> {
        let id = id_of(name).ok_or_else(|| {
            AccountError::new(AccountErrorKind::Invalid, "the name must contain a letter or digit")
        })?;
        let owner = match &self.actor {
            Actor::User(user) if owner.as_ref().is_none_or(|owner| owner == user) => user.clone(),
            Actor::User(_) => {
                return Err(AccountError::new(
                    AccountErrorKind::Forbidden,
                    "only the operator can create an organization for another user",
                ));
            }
            Actor::Operator => owner.ok_or_else(|| {
                AccountError::new(AccountErrorKind::Invalid, "an organization needs an owner")
            })?,
        };
        let action = format!("create the organization `{name}`");
        self.write(&id.clone(), action, |accounts| {
            if accounts.organizations.contains_key(&id) {
                return Err(AccountError::new(
                    AccountErrorKind::Conflict,
                    format!("the organization `{id}` already exists"),
                ));
            }
            accounts
                .organizations
                .insert(Arc::clone(&id), OrganizationRecord::new(name.to_owned(), owner));
            Ok(id)
        })
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

    /// Removes a user from an organization.
    pub(crate) fn remove_member(self, organization: &str, user: &str) -> ChangeResult {
        let action = format!("remove the member `{user}`");
        self.change(organization, None, Permission::ManageMembers, action, |accounts| {
            let removed = accounts.organization_mut(organization)?.members.remove(user);
            removed.map(drop).ok_or_else(|| AccountError::unknown("member", user))
        })
    }

    /// Adds a finetune, or changes whether it is shared, even during its training.
    pub(crate) fn set_finetune(self, organization: &str, finetune: Finetune) -> ChangeResult {
        if !is_finetune_name(&finetune.name) {
            let detail = "a finetune name must not be empty or contain a slash";
            return Err(AccountError::new(AccountErrorKind::Invalid, detail));
        }
        let shared = if finetune.shared { "shared" } else { "private" };
        let action = format!("set the {shared} finetune `{}`", finetune.name);
        self.change(organization, None, Permission::ManageFinetunes, action, |accounts| {
            let finetunes = &mut accounts.organization_mut(organization)?.finetunes;
            let stored = finetunes.entry(finetune.name.clone());
            let shared = finetune.shared;
            stored.or_insert_with(|| StoredFinetune::usable(finetune)).finetune.shared = shared;
            Ok(())
        })
    }

    /// Removes a finetune. Requests that name it are rejected from now on.
    pub(crate) fn remove_finetune(self, organization: &str, name: &str) -> ChangeResult {
        let action = format!("remove the finetune `{name}`");
        self.change(organization, None, Permission::ManageFinetunes, action, |accounts| {
            let removed = accounts.organization_mut(organization)?.finetunes.remove(name);
            removed.map(drop).ok_or_else(|| AccountError::unknown("finetune", name))
        })
    }
}
