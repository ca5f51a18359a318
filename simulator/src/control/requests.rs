//! The journal: lists requests, and counts those that match a pattern.

use std::sync::Arc;

use axum::extract::{Query, State, rejection::QueryRejection};
use serde_json::json;

use super::response::{self, Change, ControlResult, Problem};
use crate::{journal::RequestPattern, state::AppState};

pub(super) async fn list(
    State(state): State<Arc<AppState>>,
    pattern: Result<Query<RequestPattern>, QueryRejection>,
) -> ControlResult {
    let Query(pattern) = pattern.map_err(|error| Problem::malformed(error.body_text()))?;
    if pattern.has_request() {
        let advice = "`request` is a part of a body: post it to /api/requests/verify";
        return Err(Problem::malformed(advice));
    }
    shown(&state, &pattern)
}

pub(super) async fn verify(
    State(state): State<Arc<AppState>>,
    Change(pattern): Change<RequestPattern>,
) -> ControlResult {
    shown(&state, &pattern)
}

fn shown(state: &AppState, pattern: &RequestPattern) -> ControlResult {
    let found = state.journal.find(pattern);
    response::json(&json!({
        "count": found.count,
        "dropped": found.dropped,
        "requests": found.newest,
    }))
}
