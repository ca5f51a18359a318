//! Decides when the client polls a task.
//!
//! Times are ages, in seconds since the service accepted the task. [`Schedule::next`] places the
//! next poll from the durations of other tasks that did the same work. A poll shows an interval and
//! not a duration: a finished task was in progress at one age, and ready at another ([`Seen`]).
//!
//! 1. [`probabilities_of`] estimates how long the next task takes. Durations that are far apart,
//!    such as those of two modes, are separate groups. For each group it compares many uniform
//!    distributions, narrow and wide, and weights them by how likely they make the intervals.
//! 2. [`Plan::new`] places the polls. A poll costs as much as the lateness that it must avoid on
//!    average ([`price`]), and the plan has the lowest expected cost. This is the inspection of a
//!    system that fails at a random time (Barlow, Hunter and Proschan, 1963), solved backwards from
//!    the longest duration.
//! 3. If nothing is known, the gaps grow with the age ([`cold_gap`]). Tasks that wait together are
//!    polled at different ages and more rarely: the first task that is ready shows the client when
//!    to poll the others.
//!
//! Regardless of the earlier durations, a task that takes `d` seconds is
//!
//! - found at an age of at most `2 d + 1`, because no poll is later than [`latest`];
//! - polled at most two more times than by a client that polls every half second and, if nothing is
//!   known, no more times than by that client ([`earliest`]);
//! - polled after at least [`SHORTEST_GAP`].

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// The minimum time between two polls of a task.
const SHORTEST_GAP: f64 = 0.1;

/// The maximum time between two polls of a task about which nothing is known, or that takes longer
/// than all others.
const LONGEST_GAP: f64 = 30.0;

/// Polls of tasks that are expected to be ready at the same age are spread over this time.
const SPREAD: f64 = 0.08;

/// The time in which a webhook usually arrives.
const EVENT_DELAY: f64 = 0.5;

/// The number of finished tasks that a schedule remembers. With more tasks, the schedule would
/// estimate a stable distribution better, and follow a drifting distribution more slowly.
const REMEMBERED: usize = 32;

/// If none of the last tasks, up to this number, took as long as an earlier task, the service has
/// changed, and the schedule forgets the earlier task.
const CHANGED: usize = 8;

/// The number of ages that a plan distinguishes. Their ratio is constant.
const CELLS: usize = 96;

/// The half widths of the distributions that are compared, relative to their middles.
const WIDTHS: [f64; 11] = [0.004, 0.01, 0.02, 0.04, 0.07, 0.1, 0.14, 0.2, 0.3, 0.5, 0.8];

/// The weight of the durations that no task has shown, as a number of tasks. It keeps the plan from
/// relying on the known durations alone.
const DOUBT: f64 = 0.3;

/// The weight of a finished task, relative to that of the task after it. Recent tasks weigh more,
/// because a group of durations that has just appeared probably stays.
const RECENCY: f64 = 0.85;

/// A new group starts with a task that was still in progress at this multiple of the next shorter
/// duration.
const GROUP_GAP: f64 = 1.25;

/// Up to this many tasks that wait together are polled as often as a single one.
const FEW_TASKS: f64 = 6.0;

/// What the polls of a finished task have shown: the task was in progress at the age `after`, and
/// ready at the age `by`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Seen {
    pub(super) after: f64,
    pub(super) by: f64,
}

impl Seen {
    /// `has_event` is whether a webhook announced that the task is ready.
    pub(super) fn new(in_progress_at: f64, ready_at: f64, has_event: bool) -> Self {
        let after = if has_event { ready_at - EVENT_DELAY } else { 0.0 };
        Self { after: after.max(in_progress_at), by: ready_at }
    }

    /// Returns whether the polls were close enough together to estimate the duration. They are too
    /// far apart if the wait began late, or if polls failed.
    pub(super) fn is_useful(&self) -> bool {
        (0.0..self.by).contains(&self.after) && self.by <= latest(self.after) + SHORTEST_GAP
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.after < other.by && other.after < self.by
    }
}

/// Whether webhook events announce the final statuses of the tasks that ask for them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "webhook"), expect(dead_code, reason = "nothing receives them"))]
pub(super) enum Events {
    /// Nothing receives them here, or the last task was ready without an event.
    #[default]
    Missing,
    /// A receiver is ready, and no event has arrived yet.
    Expected,
    /// Events arrive.
    Arriving,
}

/// The progress of the wait for a task.
#[derive(Debug, Clone, Copy)]
pub(super) struct WaitProgress {
    /// The age at which the last poll found the task in progress, or zero.
    pub(super) in_progress_at: f64,
    /// The age now.
    pub(super) age: f64,
    /// The number of polls so far.
    pub(super) polls: u32,
    /// The number of tasks with the same work that the client waits for, including this one. It
    /// matters only if no duration is known.
    pub(super) waiting: usize,
    /// Whether a webhook announces the final status.
    pub(super) events: Events,
    /// Whether a task with the same work was just ready at an unexpected age.
    pub(super) is_surprised: bool,
}

/// The latest age of the next poll of a task that was in progress at `age`. It leaves a tenth of a
/// second for the response, so that the task is found by `2 d + 1`.
fn latest(age: f64) -> f64 {
    2.0 * age + 0.9
}

/// The latest age of the next poll while webhooks arrive.
fn latest_with_events(age: f64) -> f64 {
    4.0 * age + 15.0
}

/// The earliest age of a poll with this number, which limits how often a task is polled.
fn earliest(number: u32, is_known: bool) -> f64 {
    match number {
        0..=4 if is_known => 0.0,
        _ if is_known => 0.5 * f64::from(number - 2),
        _ => 0.5 * f64::from(number),
    }
}

/// The time to the next poll if no duration is known. On average, a task is found late by half of
/// this time. The age of a resumed task comes from the clock of the machine, which may be wrong, so
/// the time has a maximum.
fn cold_gap(age: f64) -> f64 {
    (0.52 + 0.062 * age).min(LONGEST_GAP)
}

/// The average lateness in seconds that a poll at this age must avoid. It grows with the age,
/// because a person who waits for a minute does not notice a second.
fn price(age: f64) -> f64 {
    (0.04 * age).min(0.06 * age.sqrt())
}

/// What is known about the durations of tasks that do the same work.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    /// The last finished tasks, the newest first.
    seen: VecDeque<Seen>,
    /// The plan for these tasks, which is computed when it is needed.
    plan: Option<Plan>,
}

impl Schedule {
    /// Adds a finished task. Returns `true` if its duration was unexpected, so that the next polls
    /// of the tasks in progress should be planned again.
    pub(super) fn learn(&mut self, seen: Seen) -> bool {
        let is_surprise = !self.seen.iter().any(|known| known.overlaps(&seen));
        self.seen.push_front(seen);
        self.seen.truncate(REMEMBERED);
        if self.seen.len() > CHANGED {
            let (after, by) = range(self.seen.range(..CHANGED));
            let recent = Seen { after, by };
            self.seen.retain(|known| known.overlaps(&recent));
        }
        self.plan = None;
        is_surprise
    }

    /// Returns the finished tasks, the oldest first.
    pub(super) fn seen(&self) -> impl Iterator<Item = &Seen> {
        self.seen.iter().rev()
    }

    pub(super) fn is_known(&self) -> bool {
        !self.seen.is_empty()
    }

    /// Returns the age of the next poll. `random` is between 0 and 1.
    pub(super) fn next(&mut self, task: WaitProgress, random: f64) -> f64 {
        let number = task.polls + 1;
        let last = task.in_progress_at;
        let latest = latest(last);
        match task.events {
            Events::Missing => {}
            Events::Expected => return latest,
            Events::Arriving => return latest_with_events(last),
        }
        let planned = match self.seen.front() {
            None => cold(&task, random),
            Some(newest) => {
                let newest = newest.by;
                let plan = self.plan.get_or_insert_with(|| Plan::new(&self.seen));
                let planned = plan.next(last);
                if task.is_surprised {
                    planned.min(newest).max(task.age) + SPREAD * random
                } else if planned > latest {
                    // Random, so that the client does not poll all tasks at the same age.
                    latest * (1.0 - 0.03 * random)
                } else {
                    planned + (0.02 * planned).min(SPREAD / 2.0) * random
                }
            }
        };
        let earliest = earliest(number, self.is_known());
        planned.max(earliest).min(latest).max(last + SHORTEST_GAP)
    }
}

/// Returns the age of the next poll if no duration is known. The first age is random, so that tasks
/// of every duration are found late by half a gap on average.
fn cold(task: &WaitProgress, random: f64) -> f64 {
    let last = task.in_progress_at;
    let latest = latest(last);
    if task.polls == 0 {
        return 0.5 + (latest - 0.5) * random;
    }
    let share = (task.waiting as f64 / FEW_TASKS).max(1.0);
    let gap = (cold_gap(last) * share).min(latest - last);
    // The polls of tasks that wait together are spread over the gap.
    let spread = if task.waiting > 1 { 0.5 + 0.5 * random } else { 0.9 + 0.2 * random };
    last + gap * spread
}

/// The lowest and the highest age of intervals.
fn range<'a>(seen: impl IntoIterator<Item = &'a Seen>) -> (f64, f64) {
    let widen = |(after, by): (f64, f64), seen: &Seen| (seen.after.min(after), seen.by.max(by));
    seen.into_iter().fold((f64::MAX, 0.0), widen)
}

/// A uniform distribution with its weight.
struct Uniform {
    from: f64,
    to: f64,
    weight: f64,
}

impl Uniform {
    fn probability(&self, after: f64, by: f64) -> f64 {
        (by.min(self.to) - after.max(self.from)).max(0.0) / (self.to - self.from)
    }
}

/// Estimates how likely durations are. There is at least one. Returns ages, and the probability of
/// each cell between two of them.
fn probabilities_of(seen: &VecDeque<Seen>) -> (Vec<f64>, Vec<f64>) {
    let count = seen.len() as f64;
    let recency = |index: usize| RECENCY.powi(index as i32);
    let mut seen: Vec<(Seen, f64)> =
        seen.iter().enumerate().map(|(index, seen)| (*seen, recency(index))).collect();
    seen.sort_by(|(a, _), (b, _)| a.by.total_cmp(&b.by));
    let groups = seen.chunk_by(|(a, _), (b, _)| b.after < GROUP_GAP * a.by);
    let mut uniforms: Vec<Uniform> = groups.flat_map(uniforms_of).collect();
    let total: f64 = uniforms.iter().map(|uniform| uniform.weight).sum();
    uniforms.retain(|uniform| uniform.weight > 1e-4 * total);

    let from = uniforms.iter().fold(f64::MAX, |from, uniform| from.min(uniform.from)).max(0.05);
    let to = uniforms.iter().fold(from, |to, uniform| to.max(uniform.to)) * 1.02;
    let ratio = (to / from).powf(1.0 / CELLS as f64);
    let age = |cell: usize| from * ratio.powi(cell as i32);
    let total: f64 = uniforms.iter().map(|uniform| uniform.weight).sum();
    let doubt = DOUBT / (count + DOUBT);
    let probability = |cell| {
        let (after, by) = (age(cell), age(cell + 1));
        let expected = |uniform: &Uniform| uniform.weight * uniform.probability(after, by);
        let expected = uniforms.iter().map(expected).sum::<f64>() / total;
        (1.0 - doubt) * expected + doubt * (by - after) / (to - from)
    };
    ((0..=CELLS).map(age).collect(), (0..CELLS).map(probability).collect())
}

/// Returns the uniform distributions from which the durations of a group may be drawn. The sum of
/// their weights is the weight of the group.
fn uniforms_of(group: &[(Seen, f64)]) -> Vec<Uniform> {
    let (after, by) = range(group.iter().map(|(seen, _)| seen));
    // Each distribution contains a part of each interval.
    let last_after = group.iter().fold(0.0_f64, |last, (seen, _)| last.max(seen.after)).max(0.1);
    let first_by = group.iter().fold(f64::MAX, |first, (seen, _)| first.min(seen.by));
    let mut uniforms = Vec::new();
    for width in WIDTHS {
        let step = (width / 4.0).min(0.05);
        let mut middle = last_after / (1.0 + width) * (1.0 + step / 2.0);
        while middle < first_by / (1.0 - width) {
            let (from, to) = (middle * (1.0 - width), middle * (1.0 + width));
            let uniform = Uniform { from, to, weight: 1.0 };
            let likelihood = |(seen, _): &(Seen, f64)| uniform.probability(seen.after, seen.by);
            let likelihood: f64 = group.iter().map(likelihood).product();
            // Wide intervals fit narrow and wide distributions equally well. If the schedule
            // assumed a narrow one, it would never find out otherwise, because no poll would test
            // the other ages.
            let weight = likelihood * step * width.powi(2);
            uniforms.push(Uniform { weight, ..uniform });
            middle *= 1.0 + step;
        }
    }
    let total: f64 = uniforms.iter().map(|uniform| uniform.weight).sum();
    if total <= 0.0 {
        uniforms = vec![Uniform { from: after, to: by, weight: 1.0 }];
    }
    let group: f64 = group.iter().map(|(_, recency)| recency).sum();
    let factor = group / if total > 0.0 { total } else { 1.0 };
    uniforms.iter_mut().for_each(|uniform| uniform.weight *= factor);
    uniforms
}

/// The best next poll of a task that was in progress at each of the ages.
#[derive(Debug)]
struct Plan {
    ages: Vec<f64>,
    /// For each age, the index of the age of the next poll.
    next: Vec<usize>,
}

#[expect(clippy::indexing_slicing, reason = "no index is higher than that of the last age")]
impl Plan {
    fn new(seen: &VecDeque<Seen>) -> Self {
        let (ages, probabilities) = probabilities_of(seen);
        // Sums of the probabilities, and of the durations, up to each age.
        let (mut ready, mut durations) = (vec![0.0], vec![0.0]);
        for (cell, probability) in probabilities.iter().enumerate() {
            let duration = (ages[cell] + ages[cell + 1]) / 2.0;
            ready.push(ready[cell] + probability);
            durations.push(durations[cell] + probability * duration);
        }
        let last = probabilities.len();
        let prices: Vec<f64> = ages.iter().map(|age| price(*age)).collect();
        let (mut next, mut costs) = (vec![last; last + 1], vec![0.0; last + 1]);
        for from in (0..last).rev() {
            let in_progress = ready[last] - ready[from];
            let cost = |to: usize| {
                let late = ages[to] * (ready[to] - ready[from]) - (durations[to] - durations[from]);
                late + prices[to] * in_progress + costs[to]
            };
            let (earliest, latest) = (ages[from] + SHORTEST_GAP, latest(ages[from]));
            let mut best = (last, cost(last));
            for to in (from + 1..last).take_while(|to| ages[*to] <= latest) {
                let cost = cost(to);
                if ages[to] >= earliest && cost < best.1 {
                    best = (to, cost);
                }
            }
            (next[from], costs[from]) = best;
        }
        Self { ages, next }
    }

    /// Returns the age of the next poll of a task that was in progress at `age`.
    fn next(&self, age: f64) -> f64 {
        let last = self.ages.len() - 1;
        let cell = self.ages.partition_point(|known| *known <= age).saturating_sub(1);
        if cell < last {
            return self.ages[self.next[cell]];
        }
        // The task takes longer than any known duration. The gaps grow, up to the gaps for an
        // unknown duration.
        let over = age - self.ages[last];
        age + (0.02 * age).max(over / 2.0).min(cold_gap(age))
    }
}
