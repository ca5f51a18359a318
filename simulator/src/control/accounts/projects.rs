//! Projects and their keys.

use axum::{
    extract::Path,
    routing::{delete, post, put},
};
use serde::Deserialize;
use serde_json::json;

use crate::{
    billing::accounts::{Limits, ProjectRef},
    control::{
        Routes,
        caller::Caller,
        response::{self, At, Change, ControlResult, Problem},
    },
};

pub(super) fn routes() -> Routes {
    vec![
        ("/api/organizations/{organization}/projects", post(create_project)),
        ("/api/organizations/{organization}/projects/{project}/limits", put(set_limits)),
        ("/api/organizations/{organization}/projects/{project}/endpoints", put(set_endpoints)),
        (
            "/api/organizations/{organization}/projects/{project}/max_active_tasks",
            put(set_max_active_tasks),
        ),
        ("/api/organizations/{organization}/projects/{project}/keys", post(create_key)),
        ("/api/keys/{key}", delete(revoke_key)),
        ("/api/keys/{key}/reveal", post(reveal_key)),
    ]
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
    /// Random if it is missing.
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
