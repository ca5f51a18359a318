//! Organizations and what belongs to them: shown, and changed by someone who may.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::routing::{delete, get, post, put};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Control;
use super::reply::{self, Change, Problem, Reply};
use crate::accounts::{
    self, AccountError, Act, Actor, Finetune, Limits, Permission, ProjectRef, Role,
};
use crate::credits::Credits;
use crate::service::Service;

type Shared = State<Arc<Service>>;

/// Names the user who acts; without it, it is the simulator's operator.
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
        let status = match error.problem {
            accounts::Problem::Unknown => StatusCode::NOT_FOUND,
            accounts::Problem::Forbidden => StatusCode::FORBIDDEN,
            accounts::Problem::Conflict => StatusCode::CONFLICT,
            accounts::Problem::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Self::new(status, error.detail)
    }
}

pub(super) fn routes() -> Router<Control> {
    let project =
        |rest: &str| format!("/api/organizations/{{organization}}/projects/{{project}}{rest}");
    Router::new()
        .route("/api/roles", get(roles))
        .route("/api/organizations", get(list).post(create_organization))
        .route("/api/organizations/{organization}", get(one))
        .route("/api/organizations/{organization}/credits", post(grant))
        .route("/api/organizations/{organization}/projects", post(create_project))
        .route(&project("/limits"), put(set_limits))
        .route(&project("/endpoints"), put(set_endpoints))
        .route(&project("/max_active_tasks"), put(set_max_active_tasks))
        .route(&project("/keys"), post(create_key))
        .route(
            "/api/organizations/{organization}/members/{user}",
            put(set_role).delete(remove_member),
        )
        .route(
            "/api/organizations/{organization}/finetunes/{finetune}",
            put(set_finetune).delete(remove_finetune),
        )
        .route("/api/keys/{key}", delete(revoke_key))
        .route("/api/keys/{key}/reveal", post(reveal_key))
        .route("/api/transfers", post(transfer))
}

/// Makes a change, or says why not.
fn change<T>(
    service: &Service,
    actor: Actor,
    change: impl FnOnce(Act<'_>) -> Result<T, AccountError>,
) -> Result<T, Problem> {
    Ok(change(service.act(&mut service.state(), actor))?)
}

/// The organization, as it is after a change.
fn organization(service: &Service, actor: &Actor, id: &str) -> Reply {
    let found =
        service.organizations(actor).into_iter().find(|organization| &*organization.id == id);
    reply::json(&found.ok_or_else(|| Problem::not_found("organization"))?)
}

/// The permission table.
async fn roles() -> Reply {
    let permitted = |role: Role| {
        Permission::ALL.into_iter().filter(move |permission| role.permits(*permission))
    };
    let roles = Role::ALL
        .map(|role| json!({ "role": role, "permissions": permitted(role).collect::<Vec<_>>() }));
    reply::json(&json!({ "roles": roles, "permissions": Permission::ALL }))
}

async fn list(State(service): Shared, Acting(actor): Acting) -> Reply {
    reply::json(&json!({
        "organizations": service.organizations(&actor),
        "max_active_tasks": service.config.max_active_tasks,
    }))
}

async fn one(State(service): Shared, Acting(actor): Acting, Path(id): Path<String>) -> Reply {
    organization(&service, &actor, &id)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewOrganization {
    name: String,
    owner: Option<String>,
}

async fn create_organization(
    State(service): Shared,
    Acting(actor): Acting,
    Change(new): Change<NewOrganization>,
) -> Reply {
    let id = change(&service, actor.clone(), |act| act.create_organization(&new.name, new.owner))?;
    organization(&service, &actor, &id)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Grant {
    amount: Credits,
}

async fn grant(
    State(service): Shared,
    Acting(actor): Acting,
    Path(id): Path<String>,
    Change(Grant { amount }): Change<Grant>,
) -> Reply {
    change(&service, actor.clone(), |act| act.grant(&id, amount))?;
    organization(&service, &actor, &id)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Transfer {
    from: String,
    to: String,
    amount: Credits,
}

/// Answers with both organizations.
async fn transfer(
    State(service): Shared,
    Acting(actor): Acting,
    Change(Transfer { from, to, amount }): Change<Transfer>,
) -> Reply {
    change(&service, actor.clone(), |act| act.transfer(&from, &to, amount))?;
    let mut both = service.organizations(&actor);
    both.retain(|organization| [&*from, &*to].contains(&&*organization.id));
    reply::json(&json!({ "organizations": both }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
}

async fn create_project(
    State(service): Shared,
    Acting(actor): Acting,
    Path(id): Path<String>,
    Change(Named { name }): Change<Named>,
) -> Reply {
    change(&service, actor.clone(), |act| act.create_project(&id, &name))?;
    organization(&service, &actor, &id)
}

/// A project by the two ids in the path.
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
    State(service): Shared,
    Acting(actor): Acting,
    At(at): At,
    Change(limits): Change<Limits>,
) -> Reply {
    change(&service, actor.clone(), |act| act.set_limits(&at, limits))?;
    organization(&service, &actor, &at.organization)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Endpoints {
    endpoints: Option<Vec<String>>,
}

async fn set_endpoints(
    State(service): Shared,
    Acting(actor): Acting,
    At(at): At,
    Change(Endpoints { endpoints }): Change<Endpoints>,
) -> Reply {
    change(&service, actor.clone(), |act| act.set_endpoints(&at, endpoints))?;
    organization(&service, &actor, &at.organization)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cap {
    max_active_tasks: Option<usize>,
}

async fn set_max_active_tasks(
    State(service): Shared,
    Acting(actor): Acting,
    At(at): At,
    Change(Cap { max_active_tasks }): Change<Cap>,
) -> Reply {
    change(&service, actor.clone(), |act| act.set_max_active_tasks(&at, max_active_tasks))?;
    organization(&service, &actor, &at.organization)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewKey {
    name: String,
    /// Drawn where it is not given.
    key: Option<String>,
}

/// A key, whole: at its creation, and where it is asked for.
#[derive(Serialize)]
struct KeyInFull {
    id: String,
    key: String,
}

async fn create_key(
    State(service): Shared,
    Acting(actor): Acting,
    At(at): At,
    Change(new): Change<NewKey>,
) -> Reply {
    let chance = service.chance;
    let (id, key) = change(&service, actor, |act| act.create_key(&at, &new.name, new.key, chance))?;
    reply::json(&KeyInFull { id, key })
}

async fn reveal_key(
    State(service): Shared,
    Acting(actor): Acting,
    Path(id): Path<String>,
) -> Reply {
    let key = change(&service, actor, |act| act.reveal_key(&id))?;
    reply::json(&KeyInFull { id, key })
}

async fn revoke_key(
    State(service): Shared,
    Acting(actor): Acting,
    Path(id): Path<String>,
) -> Reply {
    change(&service, actor, |act| act.revoke_key(&id))?;
    reply::json(&json!({ "id": id, "revoked": true }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Membership {
    role: Role,
    /// The project to which the role is confined.
    project: Option<String>,
}

async fn set_role(
    State(service): Shared,
    Acting(actor): Acting,
    Path((id, user)): Path<(String, String)>,
    Change(Membership { role, project }): Change<Membership>,
) -> Reply {
    change(&service, actor.clone(), |act| act.set_role(&id, project.as_deref(), &user, role))?;
    organization(&service, &actor, &id)
}

async fn remove_member(
    State(service): Shared,
    Acting(actor): Acting,
    Path((id, user)): Path<(String, String)>,
) -> Reply {
    change(&service, actor.clone(), |act| act.remove_member(&id, &user))?;
    organization(&service, &actor, &id)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sharing {
    #[serde(default)]
    shared: bool,
}

async fn set_finetune(
    State(service): Shared,
    Acting(actor): Acting,
    Path((id, name)): Path<(String, String)>,
    Change(Sharing { shared }): Change<Sharing>,
) -> Reply {
    change(&service, actor.clone(), |act| act.set_finetune(&id, Finetune { name, shared }))?;
    organization(&service, &actor, &id)
}

async fn remove_finetune(
    State(service): Shared,
    Acting(actor): Acting,
    Path((id, name)): Path<(String, String)>,
) -> Reply {
    change(&service, actor.clone(), |act| act.remove_finetune(&id, &name))?;
    organization(&service, &actor, &id)
}
