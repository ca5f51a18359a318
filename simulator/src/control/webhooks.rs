//! The webhooks: lists them, and sends one again.

use std::sync::Arc;

use axum::{
    extract::rejection::{PathRejection, QueryRejection},
    extract::{Path, Query, State},
};
use serde_json::json;

use super::{
    logs::{self, Newest},
    reply::{self, Problem, Reply},
};
use crate::state::AppState;

pub(super) async fn list(
    State(state): State<Arc<AppState>>,
    newest: Result<Query<Newest>, QueryRejection>,
) -> Reply {
    let limit = logs::limit(newest)?;
    let all = state.webhooks.views();
    let total = all.len();
    let newest: Vec<_> = all.into_iter().rev().take(limit).collect();
    reply::json(&json!({ "total": total, "deliveries": newest }))
}

/// Returns the new delivery.
pub(super) async fn redeliver(
    State(state): State<Arc<AppState>>,
    number: Result<Path<u64>, PathRejection>,
) -> Reply {
    let again = number.ok().and_then(|Path(number)| state.webhooks.redeliver(number));
    let again = again.ok_or_else(|| Problem::not_found("delivery"))?;
    let view = state.webhooks.views().into_iter().find(|delivery| delivery.id == again);
    reply::json(&view.ok_or_else(|| Problem::not_found("delivery"))?)
}
