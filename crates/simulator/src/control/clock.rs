//! The clock: reads and changes it.

use std::time::Duration;

use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Shared,
    caller::Caller,
    response::{self, Change, ControlResult, Problem},
};
use crate::{runtime::clock::Clock, values::seconds};

/// What the control interface shows of a clock: seconds since 1970-01-01 00:00 UTC and since the
/// simulator started, and its seconds per real second.
pub(super) fn shown(clock: &Clock) -> Value {
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

pub(super) async fn show(State(state): Shared) -> ControlResult {
    response::json(&shown(&state.clock))
}

pub(super) async fn advance(
    caller: Caller,
    Change(Advance { seconds }): Change<Advance>,
) -> ControlResult {
    caller.state.clock.advance(seconds);
    caller.record(None, format!("advance the clock by {} s", seconds.as_secs_f64()));
    response::json(&shown(&caller.state.clock))
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
    response::json(&shown(&caller.state.clock))
}
