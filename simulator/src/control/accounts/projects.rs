//! Projects and their keys.

use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, Path, State},
    http::request::Parts,
    routing::{delete, post, put},
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Acting, Shared, change, organization};
use crate::{
    billing::accounts::{Limits, ProjectRef},
    control::{
        Routes,
        response::{self, Change, ControlResult, Problem},
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
    State(state): Shared,
    Acting(actor): Acting,
    Path(id): Path<String>,
    Change(Named { name }): Change<Named>,
) -> ControlResult {
    change(&state, actor.clone(), |act| act.create_project(&id, &name))?;
    organization(&state, &actor, &id)
}

/// The project of the two ids in the path.
struct At(ProjectRef);

impl<S: Send + Sync> FromRequestParts<S> for At {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let ids = Path::<(Arc<str>, Arc<str>)>::from_request_parts(parts, state).await;
        let Path((organization, project)) =
            ids.map_err(|error| Problem::malformed(error.body_text()))?;
        Ok(Self(ProjectRef { organization, project }))
    }
}

async fn set_limits(
    State(state): Shared,
    Acting(actor): Acting,
    At(at): At,
    Change(limits): Change<Limits>,
) -> ControlResult {
    change(&state, actor.clone(), |act| act.set_limits(&at, limits))?;
    organization(&state, &actor, &at.organization)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Endpoints {
    endpoints: Option<Vec<String>>,
}

async fn set_endpoints(
    State(state): Shared,
    Acting(actor): Acting,
    At(at): At,
    Change(Endpoints { endpoints }): Change<Endpoints>,
) -> ControlResult {
    for pattern in endpoints.iter().flatten() {
        state.contract.check_pattern(pattern).map_err(Problem::invalid)?;
    }
    change(&state, actor.clone(), |act| act.set_endpoints(&at, endpoints))?;
    organization(&state, &actor, &at.organization)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cap {
    max_active_tasks: Option<usize>,
}

async fn set_max_active_tasks(
    State(state): Shared,
    Acting(actor): Acting,
    At(at): At,
    Change(Cap { max_active_tasks }): Change<Cap>,
) -> ControlResult {
    change(&state, actor.clone(), |act| act.set_max_active_tasks(&at, max_active_tasks))?;
    organization(&state, &actor, &at.organization)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewKey {
    name: String,
    /// Random if it is missing.
    key: Option<String>,
}

/// A complete key: in the response to its creation, and when it is revealed.
#[derive(Serialize)]
struct KeyInFull {
    id: String,
    key: String,
}

async fn create_key(
    State(state): Shared,
    Acting(actor): Acting,
    At(at): At,
    Change(new): Change<NewKey>,
) -> ControlResult {
    let chance = state.chance;
    let (id, key) = change(&state, actor, |act| act.create_key(&at, &new.name, new.key, chance))?;
    response::json(&KeyInFull { id, key })
}

async fn reveal_key(
    State(state): Shared,
    Acting(actor): Acting,
    Path(id): Path<String>,
) -> ControlResult {
    let key = change(&state, actor, |act| act.reveal_key(&id))?;
    response::json(&KeyInFull { id, key })
}

async fn revoke_key(
    State(state): Shared,
    Acting(actor): Acting,
    Path(id): Path<String>,
) -> ControlResult {
    change(&state, actor, |act| act.revoke_key(&id))?;
    response::json(&json!({ "id": id, "revoked": true }))
}
