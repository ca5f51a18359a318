//! The state of the simulator as a whole: an overview, how to reach the service, the clock, resets,
//! and snapshots.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{Request, State},
    http::{StatusCode, header},
    response::IntoResponse as _,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Shared,
    response::{self, Caller, Change, ControlResult, Problem},
};
use crate::{
    billing::accounts::{Actor, ProjectRef},
    contract::Region,
    runtime::{clock::Clock, workers::JobSize},
    snapshot::{self, RestoreError, Snapshot},
    values::seconds,
};

/// Responds to supervisors that wait until the simulator has started.
pub(super) async fn health() -> ControlResult {
    response::json(&json!({ "status": "ok" }))
}

pub(super) async fn overview(State(state): Shared) -> ControlResult {
    let config = &state.config;
    response::json(&json!({
        "base_url": state.base(Region::Global),
        "regional_base_url": state.base(Region::Regional),
        "model_prefix": config.model_prefix,
        "in_progress": config.in_progress,
        "ready_after": config.ready_after.as_secs_f64(),
        "ready_after_spread": config.ready_after_spread,
        "delivery_lifetime": config.delivery_lifetime.as_secs_f64(),
        "counts": state.counts(),
        "lateness": state.lateness(),
        "clock": time_of(&state.clock),
    }))
}

/// Shows how to reach the service. `key` is the first of the configured keys. The program prints
/// that key when it starts, so showing it does not count as revealing it. `key` is `null` if a user
/// asks, and if the key was revoked.
pub(super) async fn connection(Caller { state, actor }: Caller) -> ControlResult {
    let key = state.config.api_keys.first().map(|key| key.expose().as_str());
    let may_see = |key: &&str| actor == Actor::Operator && state.records().accounts.knows_key(key);
    response::json(&json!({
        "base_url": state.base(Region::Global),
        "regional_base_url": state.base(Region::Regional),
        "key": key.filter(may_see),
    }))
}

/// What to reset: one project, or everything if both fields are missing.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ResetScope {
    organization: Option<Arc<str>>,
    project: Option<Arc<str>>,
}

/// Resets the simulator or one project, for example between two tests.
pub(super) async fn reset(
    State(state): Shared,
    Change(scope): Change<ResetScope>,
) -> ControlResult {
    match (scope.organization, scope.project) {
        (None, None) => state.reset().map_err(|_| Problem::internal())?,
        (Some(organization), Some(project)) => {
            if !state.reset_project(&ProjectRef { organization, project }) {
                return Err(Problem::unknown("project"));
            }
        }
        _ => return Err(Problem::invalid("`organization` and `project` belong together")),
    }
    response::json(&json!({ "reset": true }))
}

impl From<RestoreError> for Problem {
    fn from(error: RestoreError) -> Self {
        Self::invalid(format!("{error}. The simulator is unchanged"))
    }
}

pub(super) async fn snapshot(State(state): Shared) -> ControlResult {
    let snapshot = Snapshot::of(&state);
    let json = state.readers.run(JobSize::Large, move || snapshot.to_json()).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], json).into_response())
}

pub(super) async fn restore(State(state): Shared, request: Request) -> ControlResult {
    let limit = snapshot::max_bytes(state.config.max_kept_bytes);
    let body =
        response::body(&state, request, limit).await.map_err(|problem| match problem.status {
            StatusCode::PAYLOAD_TOO_LARGE => {
                let detail = format!(
                    "The snapshot is larger than {limit} bytes: raise `max_kept_bytes` of this \
                 simulator, or take a snapshot of fewer tasks"
                );
                Problem::new(problem.status, detail)
            }
            _ => problem,
        })?;
    let job = move || match serde_json::from_slice::<serde::de::IgnoredAny>(&body.bytes) {
        Ok(_) => Ok(Snapshot::from_json(&body.bytes)?),
        Err(error) => Err(Problem::malformed(format!("Could not parse the body: {error}"))),
    };
    let snapshot = state.readers.run(JobSize::Large, job).await??;
    snapshot::restore(&state, &snapshot).await?;
    response::json(&json!({ "restored": true }))
}

/// Shows a clock: its time in seconds since 1970-01-01 00:00 UTC and since the simulator started,
/// and its speed in seconds per real second.
pub(super) fn time_of(clock: &Clock) -> Value {
    let since_start = clock.now();
    json!({
        "now": clock.unix_at(since_start).as_secs_f64(),
        "since_start": since_start.as_secs_f64(),
        "speed": clock.speed(),
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Advance {
    #[serde(deserialize_with = "seconds::one")]
    seconds: Duration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pace {
    speed: f64,
}

pub(super) async fn time(State(state): Shared) -> ControlResult {
    response::json(&time_of(&state.clock))
}

pub(super) async fn advance(
    caller: Caller,
    Change(Advance { seconds }): Change<Advance>,
) -> ControlResult {
    caller.state.clock.advance(seconds);
    caller.record(None, format!("advance the clock by {} s", seconds.as_secs_f64()));
    response::json(&time_of(&caller.state.clock))
}

pub(super) async fn set_speed(
    caller: Caller,
    Change(Pace { speed }): Change<Pace>,
) -> ControlResult {
    if !(0.0..=Clock::MAX_SPEED).contains(&speed) {
        return Err(Problem::invalid(format!("`speed` must be from 0 to {}", Clock::MAX_SPEED)));
    }
    caller.state.clock.set_speed(speed);
    caller.record(None, format!("set the speed of the clock to {speed}"));
    response::json(&time_of(&caller.state.clock))
}
