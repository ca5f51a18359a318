//! Who sends a request to the control interface, and what they may do.

use std::{convert::Infallible, sync::Arc};

use axum::{
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};

use super::{
    Control,
    response::{self, ControlResult, Problem},
};
use crate::{
    billing::accounts::{AccountError, Actor, Editor},
    state::AppState,
};

/// The header that names the acting user. Without it, the operator acts.
const ACTING_HEADER: &str = "x-acting-user";

pub(super) struct Caller {
    pub(super) state: Arc<AppState>,
    pub(super) actor: Actor,
}

impl FromRequestParts<Control> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, control: &Control) -> Result<Self, Infallible> {
        let user =
            parts.headers.get(ACTING_HEADER).map(|user| String::from_utf8_lossy(user.as_bytes()));
        let actor = user.map_or(Actor::Operator, |user| Actor::User(user.into_owned()));
        Ok(Self { state: Arc::clone(&control.state), actor })
    }
}

impl From<AccountError> for Problem {
    fn from(error: AccountError) -> Self {
        let (status, detail) = match error {
            AccountError::Unknown(detail) => (StatusCode::NOT_FOUND, detail),
            AccountError::Forbidden(detail) => (StatusCode::FORBIDDEN, detail),
            AccountError::Conflict(detail) => (StatusCode::CONFLICT, detail),
            AccountError::Invalid(detail) => (StatusCode::UNPROCESSABLE_ENTITY, detail),
        };
        Self::new(status, detail)
    }
}

impl Caller {
    /// Changes the accounts.
    pub(super) fn change<T>(
        &self,
        change: impl FnOnce(Editor<'_>) -> Result<T, AccountError>,
    ) -> Result<T, Problem> {
        Ok(change(self.state.editor(&mut self.state.records(), self.actor.clone()))?)
    }

    /// Changes an organization, and returns it.
    pub(super) fn change_organization<T>(
        &self,
        id: &str,
        change: impl FnOnce(Editor<'_>) -> Result<T, AccountError>,
    ) -> ControlResult {
        self.change(change)?;
        self.organization(id)
    }

    /// Returns an organization.
    pub(super) fn organization(&self, id: &str) -> ControlResult {
        let mut seen = self.state.organizations(&self.actor).into_iter();
        let found = seen.find(|organization| &*organization.id == id);
        response::json(&found.ok_or_else(|| Problem::not_found("organization"))?)
    }

    /// Records in the audit log what the caller has changed in the simulator, or for an
    /// organization.
    pub(super) fn record(&self, organization: Option<&str>, action: String) {
        let mut records = self.state.records();
        self.state.editor(&mut records, self.actor.clone()).record(organization, action);
    }
}
