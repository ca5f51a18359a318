//! The known faults and the fault rules.

use std::sync::Arc;

use axum::{
    extract::rejection::PathRejection,
    extract::{Path, State},
    routing::{delete, get},
};
use serde::Deserialize;
use serde_json::json;

use super::{
    Routes,
    accounts::Acting,
    response::{self, Change, ControlResult, Problem},
};
use crate::{faults::Faults, state::AppState};

pub(super) fn routes() -> Routes {
    vec![("/api/faults", get(show).post(add).delete(clear)), ("/api/faults/{rule}", delete(remove))]
}

fn shown(faults: &Faults) -> ControlResult {
    response::json(
        &json!({ "known": Faults::known(), "rules": faults.rules(), "applied": faults.applied() }),
    )
}

async fn show(State(state): State<Arc<AppState>>) -> ControlResult {
    shown(&state.faults)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewRule {
    rule: String,
}

async fn add(
    State(state): State<Arc<AppState>>,
    Acting(actor): Acting,
    Change(NewRule { rule }): Change<NewRule>,
) -> ControlResult {
    let added = state.faults.add(&rule).map_err(|error| Problem::invalid(error.to_string()))?;
    state.record(actor, None, format!("add the fault rule {}: `{rule}`", added.id));
    response::json(&added)
}

async fn remove(
    State(state): State<Arc<AppState>>,
    Acting(actor): Acting,
    rule: Result<Path<u64>, PathRejection>,
) -> ControlResult {
    let removed = rule.ok().filter(|Path(rule)| state.faults.remove(*rule));
    let Path(rule) = removed.ok_or_else(|| Problem::not_found("rule"))?;
    state.record(actor, None, format!("remove the fault rule {rule}"));
    shown(&state.faults)
}

async fn clear(State(state): State<Arc<AppState>>, Acting(actor): Acting) -> ControlResult {
    state.faults.clear();
    state.record(actor, None, "remove all fault rules".to_owned());
    shown(&state.faults)
}
