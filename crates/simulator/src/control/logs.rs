//! The audit log, the ledger, and the journal of requests.

use axum::extract::State;
use serde::Deserialize;
use serde_json::json;

use super::{
    Shared,
    caller::Caller,
    response::{self, Change, ControlResult, Parameters, Problem},
};
use crate::{billing::accounts::Actor, journal::RequestPattern};

/// The default and the maximum number of entries.
const ENTRIES: usize = 100;
const MAX_ENTRIES: usize = 10_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Newest {
    limit: Option<usize>,
}

impl Newest {
    pub(super) fn limit(&self) -> usize {
        self.limit.unwrap_or(ENTRIES).min(MAX_ENTRIES)
    }
}

pub(super) async fn audit(
    Caller { state, actor }: Caller,
    Parameters(newest): Parameters<Newest>,
) -> ControlResult {
    let entries = state.records().accounts.audit_log(&actor, newest.limit());
    response::json(&json!({ "entries": entries }))
}

/// Only the operator sees the balances of all accounts, which add up to zero.
pub(super) async fn ledger(
    Caller { state, actor }: Caller,
    Parameters(newest): Parameters<Newest>,
) -> ControlResult {
    let records = state.records();
    let entries = records.accounts.ledger(&actor, newest.limit());
    let balances = (actor == Actor::Operator).then(|| records.accounts.balances());
    response::json(&json!({ "entries": entries, "balances": balances }))
}

/// Searches the journal.
pub(super) async fn requests(
    State(state): Shared,
    Parameters(pattern): Parameters<RequestPattern>,
) -> ControlResult {
    // A query cannot express it.
    if pattern.request.is_some() {
        let advice = "`request` is a part of a body: post it to /api/requests/verify";
        return Err(Problem::malformed(advice));
    }
    response::json(&state.journal.find(&pattern))
}

pub(super) async fn verify(
    State(state): Shared,
    Change(pattern): Change<RequestPattern>,
) -> ControlResult {
    response::json(&state.journal.find(&pattern))
}
