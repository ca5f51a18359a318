//! Shows organizations with everything in them, and changes their credits, members and finetunes.

use std::sync::Arc;

use axum::{
    extract::Path,
    routing::{get, post, put},
};
use serde::Deserialize;
use serde_json::json;

use super::{
    Routes,
    response::{self, Caller, Change, ControlResult, Problem},
};
use crate::billing::{
    accounts::{
        Actor, Finetune, Member, OrganizationRecord, Permission, Role, StoredFinetune, id_of,
        is_finetune_name, unknown,
    },
    credits::Credits,
    ledger::Account,
};

pub(super) fn routes() -> Routes {
    vec![
        ("/api/roles", "GET: the roles and their permissions", get(roles)),
        ("/api/organizations", "GET, POST {name,owner}", get(list).post(create)),
        (
            "/api/organizations/{organization}",
            "GET: its members, projects, keys, finetunes",
            get(one),
        ),
        ("/api/organizations/{organization}/credits", "POST {amount}: adds them", post(grant)),
        (
            "/api/organizations/{organization}/members/{user}",
            "PUT, DELETE {role,project}",
            put(set_role).delete(remove_member),
        ),
        (
            "/api/organizations/{organization}/finetunes/{finetune}",
            "PUT, DELETE {shared}",
            put(set_finetune).delete(remove_finetune),
        ),
        ("/api/transfers", "POST {from,to,amount}: moves credits", post(transfer)),
    ]
}

/// Lists all roles with their permissions.
async fn roles() -> ControlResult {
    let permitted = |role: Role| {
        Permission::ALL.into_iter().filter(move |permission| role.permits(*permission))
    };
    let roles = Role::ALL
        .map(|role| json!({ "role": role, "permissions": permitted(role).collect::<Vec<_>>() }));
    response::json(&json!({ "roles": roles, "permissions": Permission::ALL }))
}

async fn list(Caller { state, actor }: Caller) -> ControlResult {
    response::json(&json!({
        "organizations": state.organizations(&actor),
        "max_active_tasks": state.config.max_active_tasks,
    }))
}

async fn one(caller: Caller, Path(id): Path<String>) -> ControlResult {
    caller.organization(&id)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewOrganization {
    name: String,
    owner: Option<String>,
}

/// Creates an organization without credits. Its owner is the caller, or `owner` if the caller is
/// the operator.
async fn create(
    caller: Caller,
    Change(NewOrganization { name, owner }): Change<NewOrganization>,
) -> ControlResult {
    let id = new_id(&name)?;
    let owner = match (&caller.actor, owner) {
        (Actor::User(user), Some(owner)) if owner != *user => {
            let detail = "only the operator can create an organization for another user";
            return Err(Problem::forbidden(detail));
        }
        (Actor::User(user), _) => user.clone(),
        (Actor::Operator, Some(owner)) => owner,
        (Actor::Operator, None) => return Err(Problem::invalid("an organization needs an owner")),
    };
    let action = format!("create the organization `{name}`");
    caller.attempt(&[(&id, action)], |accounts, _| {
        if accounts.organizations.contains_key(&id) {
            return Err(Problem::conflict(format!("the organization `{id}` already exists")));
        }
        let organization = OrganizationRecord { name, owner, ..Default::default() };
        accounts.organizations.insert(Arc::clone(&id), organization);
        Ok(())
    })?;
    caller.organization(&id)
}

/// Derives the id of a new organization or project from its name.
pub(super) fn new_id(name: &str) -> ControlResult<Arc<str>> {
    id_of(name).ok_or_else(|| Problem::invalid("the name must contain a letter or digit"))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Grant {
    amount: Credits,
}

/// Adds credits to an organization, as if it had bought them.
async fn grant(
    caller: Caller,
    Path(id): Path<String>,
    Change(Grant { amount }): Change<Grant>,
) -> ControlResult {
    let action = format!("add {amount} credits");
    caller.change((&id, None), Permission::ManageCredits, action, |accounts, unix| {
        let to = Account::Organization(id.as_str().into());
        accounts.ledger.transfer(unix, Account::Issued, to, amount, None)
    })?;
    caller.organization(&id)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Transfer {
    from: String,
    to: String,
    amount: Credits,
}

/// Moves credits between two organizations of the same owner, and returns both. Only that owner and
/// the operator may do that. The audit logs of both organizations record it.
async fn transfer(
    caller: Caller,
    Change(Transfer { from, to, amount }): Change<Transfer>,
) -> ControlResult {
    let actions = [
        (&*from, format!("transfer {amount} credits to `{to}`")),
        (&*to, format!("receive {amount} credits from `{from}`")),
    ];
    caller.attempt(&actions, |accounts, unix| {
        let owner = accounts.organization_mut(&from)?.owner.clone();
        let same_owner = accounts.organization_mut(&to)?.owner == owner;
        if !same_owner || caller.actor != Actor::Operator && caller.actor.name() != owner {
            let detail = "only the owner of both organizations can transfer credits between them";
            return Err(Problem::forbidden(detail));
        }
        if amount == Credits::ZERO {
            return Err(Problem::invalid("the amount of a transfer must be above zero"));
        }
        if from == to {
            return Err(Problem::invalid("source and destination are the same organization"));
        }
        let [from, to] = [&*from, &*to].map(|id| Account::Organization(id.into()));
        accounts.ledger.transfer(unix, from, to, amount, None)
    })?;
    let mut both = caller.state.organizations(&caller.actor);
    both.retain(|organization| [&*from, &*to].contains(&&*organization.id));
    response::json(&json!({ "organizations": both }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Membership {
    role: Role,
    /// The project to which the role is limited.
    project: Option<String>,
}

/// Gives a user a role in an organization, or in one of its projects.
async fn set_role(
    caller: Caller,
    Path((id, user)): Path<(String, String)>,
    Change(Membership { role, project }): Change<Membership>,
) -> ControlResult {
    let place = project.as_ref().map_or("the organization".to_owned(), |id| format!("`{id}`"));
    let action = format!("give `{user}` the role {role:?} in {place}");
    caller.change_organization((&id, None), Permission::ManageMembers, action, |organization| {
        let Some(project) = project else {
            let new = Member { user: user.clone(), role, projects: Default::default() };
            organization.members.entry(user).or_insert(new).role = role;
            return Ok(());
        };
        organization.project_mut(&project)?;
        let member = organization.members.get_mut(&user);
        member.ok_or_else(|| unknown("member", &user))?.projects.insert(project, role);
        Ok(())
    })
}

/// Removes a user from an organization.
async fn remove_member(caller: Caller, Path((id, user)): Path<(String, String)>) -> ControlResult {
    let action = format!("remove the member `{user}`");
    caller.change_organization((&id, None), Permission::ManageMembers, action, |organization| {
        organization.members.remove(&user).map(drop).ok_or_else(|| unknown("member", &user))
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sharing {
    #[serde(default)]
    shared: bool,
}

/// Adds a finetune, or sets whether an existing one is shared, even while it is trained.
async fn set_finetune(
    caller: Caller,
    Path((id, name)): Path<(String, String)>,
    Change(Sharing { shared }): Change<Sharing>,
) -> ControlResult {
    if !is_finetune_name(&name) {
        return Err(Problem::invalid("a finetune name must not be empty or contain a slash"));
    }
    let how = if shared { "shared" } else { "private" };
    let action = format!("set the {how} finetune `{name}`");
    caller.change_organization((&id, None), Permission::ManageFinetunes, action, |organization| {
        let new = StoredFinetune::usable(Finetune { name: name.clone(), shared });
        organization.finetunes.entry(name).or_insert(new).finetune.shared = shared;
        Ok(())
    })
}

/// Removes a finetune. Requests that name it are rejected from now on.
async fn remove_finetune(
    caller: Caller,
    Path((id, name)): Path<(String, String)>,
) -> ControlResult {
    let action = format!("remove the finetune `{name}`");
    caller.change_organization((&id, None), Permission::ManageFinetunes, action, |organization| {
        organization.finetunes.remove(&name).map(drop).ok_or_else(|| unknown("finetune", &name))
    })
}
