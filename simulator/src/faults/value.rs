//! Parses the values of faults, or returns their defaults.

use std::time::Duration;

use axum::http::{StatusCode, Uri};

use super::effect::Effect;

/// The effect of a fault that takes no value.
pub(super) fn none(value: Option<&str>, effect: Effect) -> Result<Effect, &'static str> {
    if value.is_some() { Err("this fault does not take a value") } else { Ok(effect) }
}

pub(super) fn status(value: Option<&str>) -> Result<StatusCode, &'static str> {
    let Some(value) = value else { return Ok(StatusCode::INTERNAL_SERVER_ERROR) };
    let status = value.parse().ok().filter(StatusCode::is_server_error);
    status.ok_or("expected a status code from 500 to 599")
}

/// The maximum duration of a fault, in seconds.
const DAY: u64 = 86_400;

pub(super) fn seconds(value: Option<&str>, default: u64) -> Result<Duration, &'static str> {
    let Some(value) = value else { return Ok(Duration::from_secs(default)) };
    let time = value.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| *time <= Duration::from_secs(DAY))
        .ok_or("expected a time in seconds, at most a day")
}

pub(super) fn whole_seconds(value: Option<&str>, default: u64) -> Result<u64, &'static str> {
    let Some(value) = value else { return Ok(default) };
    let time = value.parse().ok().filter(|seconds| *seconds <= DAY);
    time.ok_or("expected whole seconds, at most a day")
}

/// Parses a host with an optional port.
pub(super) fn host(value: Option<&str>, default: &str) -> Result<String, &'static str> {
    let value = value.unwrap_or(default);
    let authority = value.parse::<Uri>().ok().and_then(|uri| uri.into_parts().authority);
    let plain = authority.is_some_and(|authority| authority == value && !value.contains('@'));
    plain.then(|| value.to_owned()).ok_or("expected a host, optionally with a port")
}
