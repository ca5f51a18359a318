//! What the parts of a snapshot have in common: their errors, their limits, and their times.

use std::{fmt::Display, time::Duration};

use axum::body::Bytes;
use base64::{Engine as _, display::Base64Display, engine::general_purpose::STANDARD};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Why a snapshot was not restored. The simulator is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("could not restore the snapshot: {place}: {problem}")]
#[non_exhaustive]
pub struct RestoreError {
    /// The location in the document, such as `tasks.kept[3].picture.size`.
    pub place: String,
    /// What is wrong there, and what to do about it. Values of the document are quoted only in
    /// part.
    pub problem: String,
}

impl RestoreError {
    pub(crate) fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { place: place.into(), problem: problem.into() }
    }

    /// The error of a part that is at `place` of a larger one.
    pub(crate) fn within(self, place: impl Display) -> Self {
        let inner = self.place;
        let dot = if inner.is_empty() || inner.starts_with('[') { "" } else { "." };
        Self { place: format!("{place}{dot}{inner}"), problem: self.problem }
    }
}

pub(crate) type Restored<T = ()> = Result<T, RestoreError>;

/// Fails unless a condition holds.
pub(crate) fn ensure(holds: bool, place: &str, problem: &str) -> Restored {
    if holds { Ok(()) } else { Err(RestoreError::new(place, problem)) }
}

/// The maximum size of a text: that of all texts in a request.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// The maximum size of a name that is drawn in pictures, or compared with others.
const MAX_NAME_BYTES: usize = 4096;

/// The maximum of a counter. Up to here, every JSON parser keeps integers exact, and no counter
/// overflows.
const MAX_COUNT: u64 = 1 << 53;

pub(crate) fn check_text(text: &str, place: &str) -> Restored {
    ensure(text.len() <= MAX_TEXT_BYTES, place, "the text is longer than a mebibyte")
}

pub(crate) fn check_name(name: &str, place: &str) -> Restored {
    ensure(name.len() <= MAX_NAME_BYTES, place, "the name is longer than 4096 bytes")
}

pub(crate) fn check_count(count: u64, place: &str) -> Restored {
    ensure(count <= MAX_COUNT, place, "the number is larger than 2^53")
}

pub(crate) fn check_length(length: usize, most: usize, place: &str) -> Restored {
    let problem = format!("the list has {length} items, more than the maximum of {most}");
    ensure(length <= most, place, &problem)
}

/// The nanoseconds from `now` until `moment`, which are negative if it has passed. At most 292
/// years, which no task takes.
pub(crate) fn ahead(now: Duration, moment: Duration) -> i64 {
    let nanoseconds = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
    match moment.checked_sub(now) {
        Some(left) => nanoseconds(left),
        None => -nanoseconds(now - moment),
    }
}

/// The moment that is this many nanoseconds ahead.
pub(crate) fn moment(now: Duration, ahead: i64) -> Duration {
    let distance = Duration::from_nanos(ahead.unsigned_abs());
    if ahead < 0 { now.saturating_sub(distance) } else { now.saturating_add(distance) }
}

/// Bytes, as base64 in JSON.
#[derive(Clone)]
pub(crate) struct Base64(pub(crate) Bytes);

impl Serialize for Base64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Base64Display::new(&self.0, &STANDARD))
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl de::Visitor<'_> for Text {
            type Value = Base64;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("base64 data")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Base64, E> {
                let bytes = STANDARD.decode(text).map_err(E::custom)?;
                Ok(Base64(bytes.into()))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn times_keep_their_distance_from_now(now: u64, at: u64) {
            let [now, at] = [now, at].map(|ns| Duration::from_nanos(ns / 2));
            prop_assert_eq!(moment(now, ahead(now, at)), at);
        }
    }

    #[test]
    fn extreme_times_do_not_overflow() {
        for (now, at) in [(Duration::ZERO, Duration::MAX), (Duration::MAX, Duration::ZERO)] {
            let distance = ahead(now, at);
            assert_eq!(distance.unsigned_abs(), i64::MAX.unsigned_abs());
            for distance in [distance, i64::MIN, i64::MAX] {
                let _ = (moment(now, distance), moment(at, distance));
            }
        }
    }

    #[test]
    fn places_are_joined() {
        let inner = || RestoreError::new("size", "is wrong");
        assert_eq!(inner().within("picture").within("tasks[3]").place, "tasks[3].picture.size");
        let item = RestoreError::new("[3].number", "is wrong").within("entries");
        assert_eq!(item.place, "entries[3].number");
        assert_eq!(RestoreError::new("", "is wrong").within("tasks[3]").place, "tasks[3]");
    }
}
