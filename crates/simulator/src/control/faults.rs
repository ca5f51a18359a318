//! The known faults and the fault rules.

use axum::{
    extract::State,
    routing::{delete, get},
};
use serde::Deserialize;
use serde_json::json;

use super::{
    Routes, Shared,
    response::{self, At, Caller, Change, ControlResult, Problem},
};
use crate::faults::Faults;

pub(super) fn routes() -> Routes {
    vec![
        (
            "/api/faults",
            "GET, POST, DELETE {rule}: shows the known faults, adds a rule, or removes all",
            get(show).post(add).delete(clear),
        ),
        ("/api/faults/{rule}", "DELETE", delete(remove)),
    ]
}

fn shown(faults: &Faults) -> ControlResult {
    response::json(
        &json!({ "known": Faults::known(), "rules": faults.rules(), "applied": faults.applied() }),
    )
}

async fn show(State(state): Shared) -> ControlResult {
    shown(&state.faults)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewRule {
    rule: String,
}

async fn add(caller: Caller, Change(NewRule { rule }): Change<NewRule>) -> ControlResult {
    let added =
        caller.state.faults.add(&rule).map_err(|error| Problem::invalid(error.to_string()))?;
    caller.record(None, format!("add the fault rule {}: `{rule}`", added.id));
    response::json(&added)
}

async fn remove(caller: Caller, At(rule): At<u64>) -> ControlResult {
    if !caller.state.faults.remove(rule) {
        return Err(Problem::unknown("rule"));
    }
    caller.record(None, format!("remove the fault rule {rule}"));
    shown(&caller.state.faults)
}

async fn clear(caller: Caller) -> ControlResult {
    caller.state.faults.clear();
    caller.record(None, "remove all fault rules".to_owned());
    shown(&caller.state.faults)
}
