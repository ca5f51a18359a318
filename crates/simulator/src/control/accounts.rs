//! Shows and changes organizations, and everything in them.

use axum::{
    extract::Path,
    routing::{delete, get, post, put},
};
use serde::Deserialize;
use serde_json::json;

use super::{
    Routes,
    response::{self, At, Caller, Change, ControlResult, Problem},
};
use crate::billing::{
    accounts::{Finetune, Limits, Permission, ProjectRef, Role},
    credits::Credits,
};

pub(super) fn routes() -> Routes {
    vec![
        ("/api/roles", "GET: the roles and their permissions", get(roles)),
        ("/api/organizations", "GET, POST {name,owner}", get(list).post(create_organization)),
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
        ("/api/organizations/{organization}/projects", "POST {name}", post(create_project)),
        (
            "/api/organizations/{organization}/projects/{project}/limits",
            "PUT {daily,weekly,monthly}",
            put(set_limits),
        ),
        (
            "/api/organizations/{organization}/projects/{project}/endpoints",
            "PUT {endpoints}: `null` is all",
            put(set_endpoints),
        ),
        (
            "/api/organizations/{organization}/projects/{project}/max_active_tasks",
            "PUT {max_active_tasks}: `null` is the setting",
            put(set_max_active_tasks),
        ),
        (
            "/api/organizations/{organization}/projects/{project}/keys",
            "POST {name,key}: shows it; without `key` it is random",
            post(create_key),
        ),
        ("/api/keys/{key}", "DELETE: revokes it", delete(revoke_key)),
        ("/api/keys/{key}/reveal", "POST: the complete key", post(reveal_key)),
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

async fn create_organization(
    caller: Caller,
    Change(new): Change<NewOrganization>,
) -> ControlResult {
    let id = caller.change(|editor| editor.create_organization(&new.name, new.owner))?;
    caller.organization(&id)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Grant {
    amount: Credits,
}

async fn grant(
    caller: Caller,
    Path(id): Path<String>,
    Change(Grant { amount }): Change<Grant>,
) -> ControlResult {
    caller.change_organization(&id, |editor| editor.grant(&id, amount))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Transfer {
    from: String,
    to: String,
    amount: Credits,
}

/// Moves credits, and returns both organizations.
async fn transfer(
    caller: Caller,
    Change(Transfer { from, to, amount }): Change<Transfer>,
) -> ControlResult {
    caller.change(|editor| editor.transfer(&from, &to, amount))?;
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

async fn set_role(
    caller: Caller,
    Path((id, user)): Path<(String, String)>,
    Change(Membership { role, project }): Change<Membership>,
) -> ControlResult {
    caller.change_organization(&id, |editor| editor.set_role(&id, project.as_deref(), &user, role))
}

async fn remove_member(caller: Caller, Path((id, user)): Path<(String, String)>) -> ControlResult {
    caller.change_organization(&id, |editor| editor.remove_member(&id, &user))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sharing {
    #[serde(default)]
    shared: bool,
}

async fn set_finetune(
    caller: Caller,
    Path((id, name)): Path<(String, String)>,
    Change(Sharing { shared }): Change<Sharing>,
) -> ControlResult {
    caller.change_organization(&id, |editor| editor.set_finetune(&id, Finetune { name, shared }))
}

async fn remove_finetune(
    caller: Caller,
    Path((id, name)): Path<(String, String)>,
) -> ControlResult {
    caller.change_organization(&id, |editor| editor.remove_finetune(&id, &name))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
}

async fn create_project(
    caller: Caller,
    Path(id): Path<String>,
    Change(Named { name }): Change<Named>,
) -> ControlResult {
    caller.change_organization(&id, |editor| editor.create_project(&id, &name))
}

async fn set_limits(
    caller: Caller,
    At(at): At<ProjectRef>,
    Change(limits): Change<Limits>,
) -> ControlResult {
    caller.change_organization(&at.organization, |editor| editor.set_limits(&at, limits))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Endpoints {
    endpoints: Option<Vec<String>>,
}

async fn set_endpoints(
    caller: Caller,
    At(at): At<ProjectRef>,
    Change(Endpoints { endpoints }): Change<Endpoints>,
) -> ControlResult {
    for pattern in endpoints.iter().flatten() {
        caller.state.contract.check_pattern(pattern).map_err(Problem::invalid)?;
    }
    caller.change_organization(&at.organization, |editor| editor.set_endpoints(&at, endpoints))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cap {
    max_active_tasks: Option<usize>,
}

async fn set_max_active_tasks(
    caller: Caller,
    At(at): At<ProjectRef>,
    Change(Cap { max_active_tasks }): Change<Cap>,
) -> ControlResult {
    caller.change_organization(&at.organization, |editor| {
        editor.set_max_active_tasks(&at, max_active_tasks)
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewKey {
    name: String,
    /// The key itself. A random key is created if this is missing.
    key: Option<String>,
}

async fn create_key(
    caller: Caller,
    At(at): At<ProjectRef>,
    Change(new): Change<NewKey>,
) -> ControlResult {
    let chance = caller.state.chance;
    let (id, key) = caller.change(|editor| editor.create_key(&at, &new.name, new.key, chance))?;
    response::json(&json!({ "id": id, "key": key }))
}

async fn reveal_key(caller: Caller, Path(id): Path<String>) -> ControlResult {
    let key = caller.change(|editor| editor.reveal_key(&id))?;
    response::json(&json!({ "id": id, "key": key }))
}

async fn revoke_key(caller: Caller, Path(id): Path<String>) -> ControlResult {
    caller.change(|editor| editor.revoke_key(&id))?;
    response::json(&json!({ "id": id, "revoked": true }))
}
