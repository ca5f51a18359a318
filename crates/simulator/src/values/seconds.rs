//! Times in settings and JSON, as seconds with a fraction.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Deserializer, Serialize as _, Serializer, de::Error};

/// The maximum of any time in settings, in seconds: a hundred years.
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

pub(crate) fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Duration>, D::Error> {
    Vec::<f64>::deserialize(deserializer)?.into_iter().map(duration).collect()
}

pub(crate) fn write<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

pub(crate) fn write_known<S: Serializer>(
    time: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    time.map(|time| time.as_secs_f64()).serialize(serializer)
}

/// Converts seconds to a duration of at most a hundred years.
fn duration<E: Error>(seconds: f64) -> Result<Duration, E> {
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if seconds <= MAX => Ok(time),
        _ => Err(E::custom(format!("{seconds} is not a time in seconds from 0 to {MAX}"))),
    }
}
