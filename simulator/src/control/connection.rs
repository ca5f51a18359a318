//! How to reach the service.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;

use super::{
    accounts::Acting,
    response::{self, ControlResult},
};
use crate::{billing::accounts::Actor, contract::Region, state::AppState};

#[derive(Serialize)]
struct Connection<'a> {
    base_url: &'a str,
    regional_base_url: &'a str,
    /// The first of the configured keys, which the program prints when it starts. This is not
    /// recorded as revealed. `None` for users, and if the key was revoked.
    key: Option<&'a str>,
}

pub(super) async fn show(
    State(state): State<Arc<AppState>>,
    Acting(actor): Acting,
) -> ControlResult {
    let key = state.config.api_keys.first().map(|key| key.expose().as_str());
    let may_see =
        |key: &&str| matches!(actor, Actor::Operator) && state.records().accounts.knows_key(key);
    response::json(&Connection {
        base_url: state.base(Region::Global),
        regional_base_url: state.base(Region::Regional),
        key: key.filter(may_see),
    })
}
