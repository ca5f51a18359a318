//! Requests and responses of the control interface. Bodies are JSON, and errors are `{"detail":
//! "..."}`. A [`Caller`] is the sender of a request, with their permissions.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    extract::{FromRequest, FromRequestParts, Path, Query, Request},
    http::{StatusCode, request::Parts},
};
use serde::{Serialize, de::DeserializeOwned};

pub(super) use crate::http::response::{Handled as ControlResult, Problem};
use crate::{
    billing::accounts::{Accounts, Actor, OrganizationRecord, Permission, Place},
    http::{
        body::{self, ReadBody},
        response,
    },
    state::AppState,
};

/// The maximum size of a request body in bytes.
const MAX_BODY_BYTES: usize = 1 << 20;

pub(super) fn json(value: &impl Serialize) -> ControlResult {
    Ok(response::json(StatusCode::OK, value))
}

/// Reads a request body of at most `limit` bytes.
pub(super) async fn body(
    state: &AppState,
    request: Request,
    limit: usize,
) -> ControlResult<ReadBody> {
    let (head, mut body) = request.into_parts();
    body::read(&head, &mut body, limit, None, state.config.client_timeout).await
}

/// The parameters in the query of a request.
pub(super) struct Parameters<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Parameters<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let query = Query::from_request_parts(parts, state).await;
        let Query(values) = query.map_err(|error| Problem::malformed(error.body_text()))?;
        Ok(Self(values))
    }
}

/// The values in the path of a request. If a value does not have the right form, the response says
/// that the resource does not exist, because no resource can have such a path.
pub(super) struct At<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for At<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let values = Path::from_request_parts(parts, state).await;
        let Path(values) = values.map_err(|_| Problem::unknown("resource"))?;
        Ok(Self(values))
    }
}

/// The body of a request that changes something.
pub(super) struct Change<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Arc<AppState>> for Change<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &Arc<AppState>) -> Result<Self, Problem> {
        let body = body(state, request, MAX_BODY_BYTES).await?;
        let value =
            serde_json::from_slice(&body.bytes).map_err(|error| match error.classify() {
                serde_json::error::Category::Data => Problem::invalid(error.to_string()),
                _ => Problem::malformed(format!("Could not parse the body: {error}")),
            })?;
        Ok(Self(value))
    }
}

/// The header that names the user who makes the request. Without it, the operator makes the
/// request.
const ACTING_HEADER: &str = "x-acting-user";

pub(super) struct Caller {
    pub(super) state: Arc<AppState>,
    pub(super) actor: Actor,
}

impl FromRequestParts<Arc<AppState>> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &Arc<AppState>,
    ) -> Result<Self, Infallible> {
        let user =
            parts.headers.get(ACTING_HEADER).map(|user| String::from_utf8_lossy(user.as_bytes()));
        let actor = user.map_or(Actor::Operator, |user| Actor::User(user.into_owned()));
        Ok(Self { state: Arc::clone(state), actor })
    }
}

impl Caller {
    /// Attempts a change of the accounts, at the Unix time that it gets. Records the attempt in the
    /// audit logs of these organizations, even if it fails.
    pub(super) fn attempt<T>(
        &self,
        actions: &[(&str, String)],
        change: impl FnOnce(&mut Accounts, Duration) -> ControlResult<T>,
    ) -> ControlResult<T> {
        let mut records = self.state.records();
        let (accounts, unix) = (&mut records.accounts, self.state.clock.unix_now());
        let outcome = change(accounts, unix);
        // Nothing is recorded if an organization does not exist.
        if actions.iter().all(|(id, _)| accounts.organizations.contains_key(*id)) {
            for (id, action) in actions {
                let (name, action) = (self.actor.name(), action.clone());
                accounts.record(unix, name, Some(id), action, outcome.is_ok());
            }
        }
        outcome
    }

    /// Attempts a change in an organization or in one of its projects, for which the caller needs a
    /// permission.
    pub(super) fn change<T>(
        &self,
        place: Place<'_>,
        permission: Permission,
        action: String,
        change: impl FnOnce(&mut Accounts, Duration) -> ControlResult<T>,
    ) -> ControlResult<T> {
        let (organization, _) = place;
        let name = self.actor.name();
        let refusal = format!("{name} is not allowed to {action} in `{organization}`");
        self.attempt(&[(organization, action)], |accounts, unix| {
            accounts.organization_mut(organization)?;
            if accounts.may(&self.actor, place, permission) {
                change(accounts, unix)
            } else {
                Err(Problem::forbidden(refusal))
            }
        })
    }

    /// Like [`change`](Self::change), but changes only the organization, and responds with it.
    pub(super) fn change_organization(
        &self,
        place: Place<'_>,
        permission: Permission,
        action: String,
        change: impl FnOnce(&mut OrganizationRecord) -> ControlResult<()>,
    ) -> ControlResult {
        let (id, _) = place;
        self.change(place, permission, action, |accounts, _| {
            change(accounts.organization_mut(id)?)
        })?;
        self.organization(id)
    }

    /// Responds with an organization.
    pub(super) fn organization(&self, id: &str) -> ControlResult {
        let mut seen = self.state.organizations(&self.actor).into_iter();
        let found = seen.find(|organization| &*organization.id == id);
        json(&found.ok_or_else(|| Problem::unknown("organization"))?)
    }

    /// Records in the audit log what the caller has changed, in an organization or in the whole
    /// simulator.
    pub(super) fn record(&self, organization: Option<&str>, action: String) {
        let mut records = self.state.records();
        let unix = self.state.clock.unix_now();
        records.accounts.record(unix, self.actor.name(), organization, action, true);
    }
}
