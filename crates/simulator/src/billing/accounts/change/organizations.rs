//! Changes to organizations: their credits, their members and their finetunes.

use std::{sync::Arc, time::Duration};

use super::{ChangeResult, Editor, new_id, unknown};
use crate::{
    billing::{
        accounts::{
            Accounts, Finetune, Member, OrganizationRecord, Permission, Role,
            audit::Actor,
            finetunes::{StoredFinetune, is_finetune_name},
        },
        credits::Credits,
        ledger::Account,
    },
    http::response::Problem,
};

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
        self.write(&id.clone(), format!("create the organization `{name}`"), |accounts| {
            if accounts.organizations.contains_key(&id) {
                let detail = format!("the organization `{id}` already exists");
                return Err(Problem::conflict(detail));
            }
            let name = name.to_owned();
            let organization = OrganizationRecord { name, owner, ..Default::default() };
            accounts.organizations.insert(Arc::clone(&id), organization);
            Ok(id)
        })
    }

    /// Adds credits to an organization, as if it had bought them.
    pub(crate) fn grant(self, organization: &str, amount: Credits) -> ChangeResult {
        let (unix, action) = (self.unix, format!("add {amount} credits"));
        self.change(organization, None, Permission::ManageCredits, action, |accounts| {
            let to = Account::Organization(organization.into());
            accounts.move_credits(unix, Account::Issued, to, amount)
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
            accounts.move_credits(unix, from, to, amount)
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
        self.change(organization, None, Permission::ManageMembers, action, |accounts| {
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
        self.change(organization, None, Permission::ManageMembers, action, |accounts| {
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
        self.change(organization, None, Permission::ManageFinetunes, action, |accounts| {
            let finetunes = &mut accounts.organization_mut(organization)?.finetunes;
            let stored = finetunes.entry(finetune.name.clone());
            stored.or_insert_with(|| StoredFinetune::usable(finetune)).finetune.shared = shared;
            Ok(())
        })
    }

    /// Removes a finetune. Requests that name it are rejected from now on.
    pub(crate) fn remove_finetune(self, organization: &str, name: &str) -> ChangeResult {
        let action = format!("remove the finetune `{name}`");
        self.change(organization, None, Permission::ManageFinetunes, action, |accounts| {
            let removed = accounts.organization_mut(organization)?.finetunes.remove(name);
            removed.map(drop).ok_or_else(|| unknown("finetune", name))
        })
    }
}

impl Accounts {
    fn move_credits(
        &mut self,
        unix: Duration,
        from: Account,
        to: Account,
        amount: Credits,
    ) -> ChangeResult {
        let moved = self.ledger.transfer(unix, from, to, amount, None);
        moved.map_err(|_| Problem::conflict(format!("the balance is less than {amount} credits")))
    }
}
