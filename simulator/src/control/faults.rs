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
use crate::{faults::Faults, state::Service};

pub(super) fn routes() -> Router<Control> {
    Router::new()
        .route("/api/faults", get(show).post(add).delete(clear))
        .route("/api/faults/{rule}", delete(remove))
}

fn shown(faults: &Faults) -> Reply {
    reply::json(
        &json!({ "known": Faults::known(), "rules": faults.rules(), "struck": faults.struck() }),
    )
}

async fn show(State(service): State<Arc<Service>>) -> Reply {
    shown(&service.faults)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewRule {
    rule: String,
}

async fn add(
    State(service): State<Arc<Service>>,
    Change(NewRule { rule }): Change<NewRule>,
) -> Reply {
    reply::json(&service.faults.add(&rule).map_err(|error| Problem::invalid(error.to_string()))?)
}

async fn remove(
    State(service): State<Arc<Service>>,
    rule: Result<Path<u64>, PathRejection>,
) -> Reply {
    let is_gone = rule.is_ok_and(|Path(rule)| service.faults.remove(rule));
    if is_gone { shown(&service.faults) } else { Err(Problem::not_found("rule")) }
}

async fn clear(State(service): State<Arc<Service>>) -> Reply {
    service.faults.clear();
    shown(&service.faults)
}
