//! The audit log and the ledger.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    extract::rejection::QueryRejection,
    extract::{Query, State},
};
use serde::Deserialize;
use serde_json::json;

use super::{
    accounts::Acting,
    response::{self, ControlResult, Problem},
};
use crate::{billing::accounts::Actor, state::AppState};

/// The default and the maximum number of entries.
const ENTRIES: usize = 100;
const MAX_ENTRIES: usize = 10_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Newest {
    #[serde(default = "entries")]
    limit: usize,
}

fn entries() -> usize {
    ENTRIES
}

pub(super) fn limit(newest: Result<Query<Newest>, QueryRejection>) -> Result<usize, Problem> {
    let Query(Newest { limit }) = newest.map_err(|error| Problem::malformed(error.body_text()))?;
    Ok(limit.min(MAX_ENTRIES))
}

pub(super) async fn audit(
    State(state): State<Arc<AppState>>,
    Acting(actor): Acting,
    newest: Result<Query<Newest>, QueryRejection>,
) -> ControlResult {
    let entries = state.records().accounts.audit_log(&actor, limit(newest)?);
    response::json(&json!({ "entries": entries }))
}

/// Only the operator sees the balances of all accounts, which add up to zero.
pub(super) async fn ledger(
    State(state): State<Arc<AppState>>,
    Acting(actor): Acting,
    newest: Result<Query<Newest>, QueryRejection>,
) -> ControlResult {
    let limit = limit(newest)?;
    let (entries, balances) = {
        let records = state.records();
        let balances = match actor {
            Actor::Operator => Some(records.accounts.balances(&actor)?),
            Actor::User(_) => None,
        };
        (records.accounts.ledger(&actor, limit), balances)
    };
    let balances: Option<BTreeMap<String, f64>> = balances.map(|balances| {
        let shown = balances.into_iter().map(|(account, hundredths)| {
            let name = serde_json::to_value(&account)
                .ok()
                .and_then(|name| name.as_str().map(str::to_owned));
            (name.unwrap_or_default(), hundredths as f64 / 100.0)
        });
        shown.collect()
    });
    response::json(&json!({ "entries": entries, "balances": balances }))
}
