//! Organizations and everything in them: views and changes.

mod projects;

use std::{convert::Infallible, sync::Arc};

use axum::{
    extract::{FromRequestParts, Path, State},
    http::StatusCode,
    http::request::Parts,
    routing::{get, post, put},
};
use serde::Deserialize;
use serde_json::json;

use super::{
    Routes,
    response::{self, Change, ControlResult, Problem},
};
use crate::{
    billing::{
        accounts::{self, AccountError, Act, Actor, Finetune, Permission, Role},
        credits::Credits,
    },
    state::AppState,
};

pub(super) type Shared = State<Arc<AppState>>;

/// The header that names the acting user. Without it, the operator acts.
const ACTING_HEADER: &str = "x-acting-user";

pub(super) struct Acting(pub(super) Actor);

impl<S: Sync> FromRequestParts<S> for Acting {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let user =
            parts.headers.get(ACTING_HEADER).map(|user| String::from_utf8_lossy(user.as_bytes()));
        Ok(Self(user.map_or(Actor::Operator, |user| Actor::User(user.into_owned()))))
    }
}

impl From<AccountError> for Problem {
    fn from(error: AccountError) -> Self {
        let status = match error.kind {
            accounts::AccountErrorKind::Unknown => StatusCode::NOT_FOUND,
            accounts::AccountErrorKind::Forbidden => StatusCode::FORBIDDEN,
            accounts::AccountErrorKind::Conflict => StatusCode::CONFLICT,
            accounts::AccountErrorKind::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Self::new(status, error.detail)
    }
}

pub(super) fn routes() -> Routes {
    let mut routes = vec![
        ("/api/roles", get(roles)),
        ("/api/organizations", get(list).post(create_organization)),
        ("/api/organizations/{organization}", get(one)),
        ("/api/organizations/{organization}/credits", post(grant)),
        ("/api/organizations/{organization}/members/{user}", put(set_role).delete(remove_member)),
        (
            "/api/organizations/{organization}/finetunes/{finetune}",
            put(set_finetune).delete(remove_finetune),
        ),
        ("/api/transfers", post(transfer)),
    ];
    routes.extend(projects::routes());
    routes
}

/// Makes a change as an actor.
fn change<T>(
    state: &AppState,
    actor: Actor,
    change: impl FnOnce(Act<'_>) -> Result<T, AccountError>,
) -> Result<T, Problem> {
    Ok(change(state.act(&mut state.records(), actor))?)
}

/// Returns the organization after a change.
fn organization(state: &AppState, actor: &Actor, id: &str) -> ControlResult {
    let found = state.organizations(actor).into_iter().find(|organization| &*organization.id == id);
    response::json(&found.ok_or_else(|| Problem::not_found("organization"))?)
}

/// The permission table.
async fn roles() -> ControlResult {
    let permitted = |role: Role| {
        Permission::ALL.into_iter().filter(move |permission| role.permits(*permission))
    };
    let roles = Role::ALL
        .map(|role| json!({ "role": role, "permissions": permitted(role).collect::<Vec<_>>() }));
    response::json(&json!({ "roles": roles, "permissions": Permission::ALL }))
}

async fn list(State(state): Shared, Acting(actor): Acting) -> ControlResult {
    response::json(&json!({
        "organizations": state.organizations(&actor),
        "max_active_tasks": state.config.max_active_tasks,
    }))
}

async fn one(State(state): Shared, Acting(actor): Acting, Path(id): Path<String>) -> ControlResult {
    organization(&state, &actor, &id)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewOrganization {
    name: String,
    owner: Option<String>,
}

async fn create_organization(
    State(state): Shared,
    Acting(actor): Acting,
    Change(new): Change<NewOrganization>,
) -> ControlResult {
    let id = change(&state, actor.clone(), |act| act.create_organization(&new.name, new.owner))?;
    organization(&state, &actor, &id)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Grant {
    amount: Credits,
}

async fn grant(
    State(state): Shared,
    Acting(actor): Acting,
    Path(id): Path<String>,
    Change(Grant { amount }): Change<Grant>,
) -> ControlResult {
    change(&state, actor.clone(), |act| act.grant(&id, amount))?;
    organization(&state, &actor, &id)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Transfer {
    from: String,
    to: String,
    amount: Credits,
}

/// Returns both organizations.
async fn transfer(
    State(state): Shared,
    Acting(actor): Acting,
    Change(Transfer { from, to, amount }): Change<Transfer>,
) -> ControlResult {
    change(&state, actor.clone(), |act| act.transfer(&from, &to, amount))?;
    let mut both = state.organizations(&actor);
    both.retain(|organization| [&*from, &*to].contains(&&*organization.id));
    response::json(&json!({ "organizations": both }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Membership {
    role: Role,
    /// Limits the role to this project.
    project: Option<String>,
}

async fn set_role(
    State(state): Shared,
    Acting(actor): Acting,
    Path((id, user)): Path<(String, String)>,
    Change(Membership { role, project }): Change<Membership>,
) -> ControlResult {
    change(&state, actor.clone(), |act| act.set_role(&id, project.as_deref(), &user, role))?;
    organization(&state, &actor, &id)
}

async fn remove_member(
    State(state): Shared,
    Acting(actor): Acting,
    Path((id, user)): Path<(String, String)>,
) -> ControlResult {
    change(&state, actor.clone(), |act| act.remove_member(&id, &user))?;
    organization(&state, &actor, &id)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sharing {
    #[serde(default)]
    shared: bool,
}

async fn set_finetune(
    State(state): Shared,
    Acting(actor): Acting,
    Path((id, name)): Path<(String, String)>,
    Change(Sharing { shared }): Change<Sharing>,
) -> ControlResult {
    change(&state, actor.clone(), |act| act.set_finetune(&id, Finetune { name, shared }))?;
    organization(&state, &actor, &id)
}

async fn remove_finetune(
    State(state): Shared,
    Acting(actor): Acting,
    Path((id, name)): Path<(String, String)>,
) -> ControlResult {
    change(&state, actor.clone(), |act| act.remove_finetune(&id, &name))?;
    organization(&state, &actor, &id)
}
