//! Times in a configuration: seconds, with a fraction where one is meant.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// No setting means more: a hundred years.
const MAX: f64 = 100.0 * 366.0 * 86_400.0;

pub(crate) fn one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    f64::deserialize(deserializer).and_then(duration)
}

pub(crate) fn table<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Duration>, D::Error> {
    let times = BTreeMap::<String, f64>::deserialize(deserializer)?;
    times.into_iter().map(|(name, seconds)| Ok((name, duration(seconds)?))).collect()
}

/// So many seconds, from none to a hundred years.
fn duration<E: Error>(seconds: f64) -> Result<Duration, E> {
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if seconds <= MAX => Ok(time),
        _ => Err(E::custom(format!("{seconds} is no time in seconds from 0 to {MAX}"))),
    }
}
