//! Serializes a time as whole seconds since the Unix epoch.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serializer, de::Error};

pub(super) fn serialize<S: Serializer>(at: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(since_epoch(*at))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<SystemTime, D::Error> {
    let since = Duration::from_secs(u64::deserialize(deserializer)?);
    UNIX_EPOCH.checked_add(since).ok_or_else(|| D::Error::custom("the time is too large"))
}

pub(super) fn whole(at: SystemTime) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(since_epoch(at))
}

fn since_epoch(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
