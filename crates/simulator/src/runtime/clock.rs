//! The simulator's clock. No other module reads the time.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use tokio::{
    sync::watch,
    time::{Instant, timeout},
};

/// Speeds are integers in millionths, so that real time is represented exactly.
const REAL_TIME: u64 = 1_000_000;

/// The latest time to which steps can advance the clock: 584 years.
const END: Duration = Duration::from_nanos(u64::MAX);

/// Moves times so that their distance from `to` becomes their former distance from `from`.
#[derive(Clone, Copy)]
pub(crate) struct Shift {
    pub(crate) from: Duration,
    pub(crate) to: Duration,
}

impl Shift {
    pub(crate) fn apply(self, time: &mut Duration) {
        let Self { from, to } = self;
        *time = match to.checked_sub(from) {
            Some(later) => time.saturating_add(later),
            None => time.saturating_sub(from - to),
        };
    }
}

/// A handle to the simulator's clock. Clones share the same clock.
///
/// The clock follows [`tokio::time::Instant`], so it stops in a runtime whose time is paused.
/// [`advance`](Clock::advance) moves it forward, and [`set_speed`](Clock::set_speed) makes it
/// faster or slower. It never runs backwards, so what has expired stays expired.
#[derive(Clone, Debug)]
pub struct Clock {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    started_unix: Duration,
    /// Changes only when the clock is advanced or its speed changes. Each change wakes all
    /// sleepers.
    course: watch::Sender<Course>,
}

/// A period in which the clock runs at a constant speed.
#[derive(Clone, Copy, Debug)]
struct Course {
    /// When the period began, in real time.
    since: Instant,
    /// The time of the clock when the period began, plus the steps by which it was advanced since.
    shown: Duration,
    millionths: u64,
}

impl Course {
    fn now(&self) -> Duration {
        let passed = self.since.elapsed().as_nanos().saturating_mul(self.millionths.into());
        let passed = u64::try_from(passed / u128::from(REAL_TIME)).unwrap_or(u64::MAX);
        self.shown.saturating_add(Duration::from_nanos(passed))
    }

    /// The real time until the clock reaches `moment` at its current speed. `None` if the clock is
    /// stopped.
    fn real_time_until(&self, moment: Duration) -> Option<Duration> {
        let left = moment.saturating_sub(self.now()).as_nanos().saturating_mul(REAL_TIME.into());
        let left = (self.millionths > 0).then(|| left.div_ceil(self.millionths.into()))?;
        Some(Duration::from_nanos(u64::try_from(left).unwrap_or(u64::MAX)))
    }

    fn step(&mut self, step: Duration) {
        self.shown = self.shown.saturating_add(step).min(END.max(self.shown));
    }
}

impl Clock {
    /// The highest speed: a little more than a day per second.
    pub const MAX_SPEED: f64 = 100_000.0;

    /// Starts a clock at zero. Its Unix time is that of this machine.
    #[allow(clippy::disallowed_methods, reason = "the only place that reads the system clock")]
    pub(crate) fn start(speed: f64) -> Self {
        let started_unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let millionths = millionths(speed).unwrap_or(REAL_TIME);
        let course = Course { since: Instant::now(), shown: Duration::ZERO, millionths };
        Self { inner: Arc::new(Inner { started_unix, course: watch::Sender::new(course) }) }
    }

    /// The time since the simulator started, as this clock measures it: with changes of speed, and
    /// with everything that [`advance`](Clock::advance) has skipped.
    pub fn now(&self) -> Duration {
        self.inner.course.borrow().now()
    }

    /// The time since 1970-01-01 00:00 UTC, according to this clock.
    pub fn unix_now(&self) -> Duration {
        self.unix_at(self.now())
    }

    /// How fast the clock runs, in its seconds per real second.
    pub fn speed(&self) -> f64 {
        self.inner.course.borrow().millionths as f64 / REAL_TIME as f64
    }

    /// Runs the clock at `speed` from now on: 1 is real time, 60 is a minute per second, 0 stops
    /// it. The time does not jump.
    ///
    /// The speed is clamped to the range from 0 to [`MAX_SPEED`](Clock::MAX_SPEED) and rounded to
    /// millionths. NaN changes nothing.
    pub fn set_speed(&self, speed: f64) {
        let Some(millionths) = millionths(speed) else { return };
        self.inner.course.send_modify(|course| {
            *course = Course { shown: course.now(), since: Instant::now(), millionths };
        });
    }

    /// Moves the clock forward by `step`. All steps together move it by at most 584 years; further
    /// steps have no effect.
    pub fn advance(&self, step: Duration) {
        self.inner.course.send_modify(|course| course.step(step));
    }

    /// Moves the clock forward to the time `moment`. Does nothing if [`now`](Clock::now) is later.
    pub fn advance_to(&self, moment: Duration) {
        self.inner.course.send_modify(|course| course.step(moment.saturating_sub(course.now())));
    }

    /// Converts a time of this clock to the time since 1970-01-01 00:00 UTC.
    pub(crate) fn unix_at(&self, moment: Duration) -> Duration {
        self.inner.started_unix.saturating_add(moment)
    }

    /// Converts a Unix time to a time of this clock, which is zero before the start.
    pub(crate) fn at_unix(&self, unix: Duration) -> Duration {
        unix.saturating_sub(self.inner.started_unix)
    }

    /// Sleeps until the clock reaches `moment`, because it runs or because it is advanced.
    pub(crate) async fn sleep_until(&self, moment: Duration) {
        let mut changes = self.inner.course.subscribe();
        loop {
            let course = *changes.borrow_and_update();
            if course.now() >= moment {
                return;
            }
            // Whatever ended the wait, check the clock again.
            match course.real_time_until(moment) {
                Some(left) => drop(timeout(left, changes.changed()).await),
                None => drop(changes.changed().await),
            }
        }
    }
}

/// Clamps a speed and converts it to millionths. `None` for NaN.
fn millionths(speed: f64) -> Option<u64> {
    let held = (speed.clamp(0.0, Clock::MAX_SPEED) * REAL_TIME as f64).round() as u64;
    (!speed.is_nan()).then_some(held)
}

#[cfg(test)]
mod tests;
