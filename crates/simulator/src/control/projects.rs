//! Changes projects: their limits, their endpoints and their keys.

use axum::{
    extract::Path,
    routing::{delete, post, put},
};
use serde::Deserialize;
use serde_json::json;

use super::{
    Routes,
    accounts::new_id,
    response::{self, At, Caller, Change, ControlResult, Problem},
};
use crate::{
    billing::{
        accounts::{
            Accounts, Limits, Permission, ProjectKey, ProjectRecord, ProjectRef, is_sendable,
            unknown,
        },
        credits::Credits,
    },
    runtime::chance::hex,
};

pub(super) fn routes() -> Routes {
    vec![
        ("/api/organizations/{organization}/projects", "POST {name}", post(create)),
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
    ]
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
}

/// Creates a project with access to all endpoints and no limits.
async fn create(
    caller: Caller,
    Path(id): Path<String>,
    Change(Named { name }): Change<Named>,
) -> ControlResult {
    let project = new_id(&name)?;
    let action = format!("create the project `{name}`");
    caller.change_organization((&id, None), Permission::ManageProjects, action, |organization| {
        if organization.projects.contains_key(&project) {
            return Err(Problem::conflict(format!("the project `{project}` already exists")));
        }
        let record = ProjectRecord { name, ..Default::default() };
        organization.projects.insert(project, record);
        Ok(())
    })
}

/// Changes a project, and responds with its organization.
fn change(
    caller: &Caller,
    at: &ProjectRef,
    permission: Permission,
    action: String,
    change: impl FnOnce(&mut ProjectRecord),
) -> ControlResult {
    caller.change_organization(at.place(), permission, action, |organization| {
        change(organization.project_mut(&at.project)?);
        Ok(())
    })
}

/// Sets the spending limits of a project.
async fn set_limits(
    caller: Caller,
    At(at): At<ProjectRef>,
    Change(limits): Change<Limits>,
) -> ControlResult {
    let shown = |limit: Option<Credits>| limit.map_or("none".to_owned(), |most| most.to_string());
    let [daily, weekly, monthly] = [limits.daily, limits.weekly, limits.monthly].map(shown);
    let action = format!(
        "set the limits of `{}`: daily {daily}, weekly {weekly}, monthly {monthly}",
        at.project
    );
    change(&caller, &at, Permission::SetLimits, action, |project| project.limits = limits)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Endpoints {
    endpoints: Option<Vec<String>>,
}

/// Sets the endpoints to which a project has access. `None` stands for all endpoints.
async fn set_endpoints(
    caller: Caller,
    At(at): At<ProjectRef>,
    Change(Endpoints { endpoints }): Change<Endpoints>,
) -> ControlResult {
    for pattern in endpoints.iter().flatten() {
        caller.state.contract.check_pattern(pattern).map_err(Problem::invalid)?;
    }
    let shown = endpoints.as_ref().map_or("all".to_owned(), |patterns| patterns.join(", "));
    let action = format!("set the endpoints of `{}`: {shown}", at.project);
    change(&caller, &at, Permission::ManageProjects, action, |project| {
        project.endpoints = endpoints;
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cap {
    max_active_tasks: Option<usize>,
}

/// Sets the maximum number of active tasks of a project. `None` stands for the configured default.
async fn set_max_active_tasks(
    caller: Caller,
    At(at): At<ProjectRef>,
    Change(Cap { max_active_tasks }): Change<Cap>,
) -> ControlResult {
    let shown = max_active_tasks.map_or("the default".to_owned(), |most| most.to_string());
    let action = format!("set the maximum of active tasks of `{}`: {shown}", at.project);
    change(&caller, &at, Permission::ManageProjects, action, |project| {
        project.max_active_tasks = max_active_tasks;
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewKey {
    name: String,
    /// The key itself. A random key is created if this is missing.
    key: Option<String>,
}

/// Creates a key, and responds with it.
async fn create_key(
    caller: Caller,
    At(at): At<ProjectRef>,
    Change(NewKey { name, key }): Change<NewKey>,
) -> ControlResult {
    if key.as_ref().is_some_and(|key| !is_sendable(key)) {
        return Err(Problem::invalid("a key must consist of visible ASCII characters"));
    }
    let action = format!("create the key `{name}` in `{}`", at.project);
    let key = caller.change(at.place(), Permission::ManageKeys, action, |accounts, _| {
        accounts.organization_mut(&at.organization)?.project_mut(&at.project)?;
        let random = || caller.state.chance.bytes("api key", accounts.keys_made);
        let key = key.unwrap_or_else(|| format!("kiln-{}", hex(&random()[..16])));
        let id = accounts.add_key(ProjectKey { name, key: key.as_str().into() }, at.clone());
        let id = id.ok_or_else(|| Problem::conflict("the key already exists"))?;
        Ok(json!({ "id": id, "key": key }))
    });
    response::json(&key?)
}

/// Responds with a complete key.
async fn reveal_key(caller: Caller, Path(id): Path<String>) -> ControlResult {
    let action = format!("reveal the key `{id}`");
    let key = change_key(&caller, &id, action, |accounts, digest| {
        let key = accounts.secrets.get(digest).map(|key| json!({ "id": id, "key": key.expose() }));
        key.ok_or_else(|| {
            let detail = format!("the simulator has only the digest of the key `{id}`");
            Problem::conflict(detail)
        })
    });
    response::json(&key?)
}

/// Deletes a key. From now on, requests with it are rejected.
async fn revoke_key(caller: Caller, Path(id): Path<String>) -> ControlResult {
    change_key(&caller, &id, format!("revoke the key `{id}`"), |accounts, digest| {
        accounts.keys.remove(digest);
        Ok(())
    })?;
    response::json(&json!({ "id": id, "revoked": true }))
}

/// Reads or changes the key with this id, if the caller may manage the keys of its project. The
/// audit log records the attempt. Keys are stored by their digest, which `change` gets.
fn change_key<T>(
    caller: &Caller,
    id: &str,
    action: String,
    change: impl FnOnce(&mut Accounts, &str) -> ControlResult<T>,
) -> ControlResult<T> {
    let found = caller.state.records().accounts.key(id);
    let (digest, at) = found.ok_or_else(|| unknown("key", id))?;
    caller.change(at.place(), Permission::ManageKeys, action, |accounts, _| {
        // Another request may just have revoked the key.
        if !accounts.keys.contains_key(&digest) {
            return Err(unknown("key", id));
        }
        change(accounts, &digest)
    })
}
