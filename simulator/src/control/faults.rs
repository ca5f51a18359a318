//! The known faults and the fault rules.

use std::sync::Arc;

use axum::{
    Router,
    extract::rejection::PathRejection,
    extract::{Path, State},
    routing::{delete, get},
};
use serde::Deserialize;
use serde_json::json;

use super::{
    Control,
    reply::{self, Change, Problem, Reply},
};
use crate::{faults::Faults, state::AppState};

pub(super) fn routes() -> Router<Control> {
    Router::new()
        .route("/api/faults", get(show).post(add).delete(clear))
        .route("/api/faults/{rule}", delete(remove))
}

fn shown(faults: &Faults) -> Reply {
    reply::json(
        &json!({ "known": Faults::known(), "rules": faults.rules(), "applied": faults.applied() }),
    )
}

async fn show(State(state): State<Arc<AppState>>) -> Reply {
    shown(&state.faults)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewRule {
    rule: String,
}

async fn add(
    State(state): State<Arc<AppState>>,
    Change(NewRule { rule }): Change<NewRule>,
) -> Reply {
    reply::json(&state.faults.add(&rule).map_err(|error| Problem::invalid(error.to_string()))?)
}

async fn remove(
    State(state): State<Arc<AppState>>,
    rule: Result<Path<u64>, PathRejection>,
) -> Reply {
    let is_gone = rule.is_ok_and(|Path(rule)| state.faults.remove(rule));
    if is_gone { shown(&state.faults) } else { Err(Problem::not_found("rule")) }
}

async fn clear(State(state): State<Arc<AppState>>) -> Reply {
    state.faults.clear();
    shown(&state.faults)
}
