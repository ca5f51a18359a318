//! Measures how late clients notice that tasks are ready, and how often they poll until then.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use super::Task;
use crate::values::{MAX_COUNT, seconds};

/// How late clients noticed that tasks were ready, on the simulator's clock, and how often they
/// polled.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Lateness {
    /// From the moment a task is ready to the first poll whose response says `Ready`.
    pub found: Delays,
    /// From the moment a task is ready to the first request for its delivery URL, even if a fault
    /// breaks the response.
    pub fetched: Delays,
    /// The polls of each accepted task.
    pub polls: PollsPerTask,
}

/// A summary of delays. If there were no delays, all times are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Delays {
    /// The number of delays.
    pub count: u64,
    /// The mean of the delays.
    #[serde(serialize_with = "seconds::write_known")]
    pub mean: Option<Duration>,
    /// At least 99 of 100 delays are at most this long. Rounded up to three digits, unless it
    /// equals the maximum.
    #[serde(serialize_with = "seconds::write_known")]
    pub p99: Option<Duration>,
    /// The longest delay.
    #[serde(serialize_with = "seconds::write_known")]
    pub max: Option<Duration>,
}

/// A summary of how often tasks were polled.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PollsPerTask {
    /// The mean number of polls of a task. 0 if there are no tasks.
    pub mean: f64,
    /// The maximum number of polls of a task.
    pub max: u64,
}

/// The delays and polls of all tasks, including those that are no longer kept.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Measurements {
    pub(crate) found: Histogram,
    pub(crate) fetched: Histogram,
    polls: u64,
    max_polls: u64,
}

impl Measurements {
    pub(crate) fn count_poll(&mut self, task: &mut Task) {
        task.polls += 1;
        self.polls += 1;
        self.max_polls = self.max_polls.max(task.polls);
    }

    /// Summarizes the measurements. `accepted` is the number of accepted tasks.
    pub(crate) fn summary(&self, accepted: u64) -> Lateness {
        let polls =
            PollsPerTask { mean: self.polls as f64 / accepted.max(1) as f64, max: self.max_polls };
        Lateness { found: self.found.summary(), fetched: self.fetched.summary(), polls }
    }

    /// Checks the measurements in a snapshot, which says that `ready` tasks have become ready.
    pub(crate) fn check(&self, ready: u64) -> Result<(), &'static str> {
        let fits = [&self.found, &self.fetched].into_iter().all(|delays| {
            let sum = |sum: u64, count: &u64| sum.checked_add(*count);
            delays.lengths.values().try_fold(0, sum).is_some_and(|sum| sum <= ready)
        });
        if !fits {
            Err("more tasks were found or fetched than became ready")
        } else if self.polls.max(self.max_polls) > MAX_COUNT {
            Err("a counter is larger than 2^53")
        } else {
            Ok(())
        }
    }
}

/// The number of delays of each length. Lengths are rounded up to three digits, so that there are
/// at most 900 different lengths for each power of ten, which limits the memory.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Histogram {
    pub(crate) sum: Duration,
    max: Duration,
    /// The number of delays, by their length in microseconds.
    lengths: BTreeMap<u64, u64>,
}

impl Histogram {
    /// Records the delay of a task, unless there is none, or `known` says that it was recorded
    /// before.
    pub(crate) fn record(&mut self, delay: Option<Duration>, known: &mut Option<Duration>) {
        let (Some(delay), None) = (delay, *known) else { return };
        *known = Some(delay);
        self.sum = self.sum.saturating_add(delay);
        self.max = self.max.max(delay);
        *self.lengths.entry(rounded_micros(delay)).or_default() += 1;
    }

    pub(crate) fn count(&self) -> u64 {
        self.lengths.values().sum()
    }

    /// The number of delays of at most this length, which is exact if `limit` has at most three
    /// digits.
    pub(crate) fn count_up_to(&self, limit: Duration) -> u64 {
        self.lengths.range(..=rounded_micros(limit)).map(|(_, count)| count).sum()
    }

    fn summary(&self) -> Delays {
        let count = self.count();
        let mean = Duration::try_from_secs_f64(self.sum.as_secs_f64() / count as f64);
        let rank = (count * 99).div_ceil(100);
        let mut passed = 0;
        let p99 = self.lengths.iter().find(|(_, count)| {
            passed += *count;
            passed >= rank
        });
        let p99 = p99.map(|(micros, _)| Duration::from_micros(*micros).min(self.max));
        Delays { count, mean: mean.ok(), p99, max: (count > 0).then_some(self.max) }
    }
}

/// Returns a delay in microseconds, rounded up to three digits.
fn rounded_micros(delay: Duration) -> u64 {
    let micros = u64::try_from(delay.as_nanos().div_ceil(1000)).unwrap_or(u64::MAX);
    let unit = 10_u64.pow(micros.checked_ilog10().unwrap_or(0).saturating_sub(2));
    micros.div_ceil(unit).saturating_mul(unit)
}
