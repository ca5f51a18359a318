//! The simulator's own time: the one place that asks what time it is.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// Speeds are counted in millionths, so that time is worked out in integers, and real time is
/// exact.
const REAL_TIME: u64 = 1_000_000;

/// As far as the clock goes by steps: 584 years.
const END: Duration = Duration::from_nanos(u64::MAX);

/// A handle to the simulator's clock. Clones share the same clock.
///
/// The clock follows [`tokio::time::Instant`], so it stands still on a runtime whose time is
/// paused. It can be moved forward with [`advance`](Clock::advance), and made faster or slower with
/// [`set_speed`](Clock::set_speed). It never runs backwards: results that have expired stay
/// expired.
#[derive(Clone, Debug)]
pub struct Clock {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    started_unix: Duration,
    /// Changed by steps and changes of speed alone, which wake who sleeps.
    course: watch::Sender<Course>,
}

/// A stretch of time at one speed.
#[derive(Clone, Copy, Debug)]
struct Course {
    /// When it began, in real time.
    since: Instant,
    /// What the clock showed then, with the steps made since.
    shown: Duration,
    millionths: u64,
}

impl Course {
    fn now(&self) -> Duration {
        let passed = self.since.elapsed().as_nanos().saturating_mul(self.millionths.into());
        let passed = u64::try_from(passed / u128::from(REAL_TIME)).unwrap_or(u64::MAX);
        self.shown.saturating_add(Duration::from_nanos(passed))
    }

    /// The real time until the clock shows `moment`, if it is left alone; `None` where it stands
    /// still.
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
    /// The highest speed: a little more than a day a second.
    pub const MAX_SPEED: f64 = 100_000.0;

    /// A clock that stands at zero now, and whose wall-clock time is this machine's.
    #[allow(clippy::disallowed_methods, reason = "this is where the time comes from")]
    pub(crate) fn start(speed: f64) -> Self {
        let started_unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let millionths = millionths(speed).unwrap_or(REAL_TIME);
        let course = Course { since: Instant::now(), shown: Duration::ZERO, millionths };
        Self { inner: Arc::new(Inner { started_unix, course: watch::Sender::new(course) }) }
    }

    /// Time since the simulator started, as this clock has run: with its speeds, and with
    /// everything skipped by [`advance`](Clock::advance).
    pub fn now(&self) -> Duration {
        self.inner.course.borrow().now()
    }

    /// Time since 1970-01-01 00:00 UTC by this clock.
    pub fn unix_now(&self) -> Duration {
        self.unix_at(self.now())
    }

    /// How fast the clock runs: seconds of its own for each real second.
    pub fn speed(&self) -> f64 {
        self.inner.course.borrow().millionths as f64 / REAL_TIME as f64
    }

    /// Makes the clock run at `speed` from now on: 1 is real time, 60 is a minute a second, 0
    /// stands still. The time does not jump.
    ///
    /// A speed is held to the range from 0 to [`MAX_SPEED`](Clock::MAX_SPEED) and to millionths.
    /// One that is not a number changes nothing.
    pub fn set_speed(&self, speed: f64) {
        let Some(millionths) = millionths(speed) else { return };
        self.inner.course.send_modify(|course| {
            *course = Course { shown: course.now(), since: Instant::now(), millionths };
        });
    }

    /// Moves the clock forward by `step`. Steps add up to 584 years at most; further ones change
    /// nothing.
    pub fn advance(&self, step: Duration) {
        self.inner.course.send_modify(|course| course.step(step));
    }

    /// Moves the clock forward until [`now`](Clock::now) is `moment`; does nothing if it is past
    /// that already.
    pub fn advance_to(&self, moment: Duration) {
        self.inner.course.send_modify(|course| course.step(moment.saturating_sub(course.now())));
    }

    /// What `moment` on this clock is since 1970-01-01 00:00 UTC.
    pub(crate) fn unix_at(&self, moment: Duration) -> Duration {
        self.inner.started_unix.saturating_add(moment)
    }

    /// Sleeps until [`now`](Clock::now) is `moment` or later, however the clock gets there.
    pub(crate) async fn sleep_until(&self, moment: Duration) {
        let mut changes = self.inner.course.subscribe();
        loop {
            let course = *changes.borrow_and_update();
            if course.now() >= moment {
                return;
            }
            // However the wait ends, the clock is asked again.
            match course.real_time_until(moment) {
                Some(left) => drop(timeout(left, changes.changed()).await),
                None => drop(changes.changed().await),
            }
        }
    }
}

/// A speed within the range; `None` where it is not a number.
fn millionths(speed: f64) -> Option<u64> {
    let held = (speed.clamp(0.0, Clock::MAX_SPEED) * REAL_TIME as f64).round() as u64;
    (!speed.is_nan()).then_some(held)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use proptest::prelude::*;
    use tokio::time::timeout_at;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn follows_tokio_and_skips_forward_only() {
        let clock = Clock::start(1.0);
        assert_eq!(clock.now(), Duration::ZERO);
        tokio::time::advance(3 * SECOND).await;
        clock.advance(4 * SECOND);
        assert_eq!(clock.now(), 7 * SECOND);
        clock.advance_to(5 * SECOND);
        assert_eq!(clock.now(), 7 * SECOND);
        clock.clone().advance_to(9 * SECOND);
        assert_eq!(clock.now(), 9 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn absurd_steps_do_not_overflow() {
        let clock = Clock::start(1.0);
        clock.advance(Duration::MAX);
        clock.advance(Duration::MAX);
        assert_eq!(clock.now(), END);
        assert!(clock.unix_now() > clock.now());
        clock.set_speed(Clock::MAX_SPEED);
        tokio::time::advance(Duration::from_secs(1 << 33)).await;
        let late = clock.now();
        clock.advance(SECOND);
        assert!(late > END && clock.now() == late);
    }

    #[tokio::test(start_paused = true)]
    async fn runs_at_its_speed_and_stands_still_at_none() {
        let clock = Clock::start(60.0);
        tokio::time::advance(SECOND).await;
        assert_eq!(clock.now(), 60 * SECOND);
        clock.set_speed(0.0);
        tokio::time::advance(SECOND).await;
        assert_eq!((clock.now(), clock.speed()), (60 * SECOND, 0.0));
        clock.set_speed(0.5);
        tokio::time::advance(SECOND).await;
        assert_eq!((clock.now(), clock.speed()), (60 * SECOND + SECOND / 2, 0.5));
    }

    #[tokio::test]
    async fn stands_at_zero_if_it_starts_at_no_speed() {
        assert_eq!(Clock::start(0.0).now(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn absurd_speeds_are_held_to_the_range() {
        let clock = Clock::start(2.0);
        for (given, speed) in [
            (f64::NAN, 2.0),
            (-1.0, 0.0),
            (f64::NAN, 0.0),
            (f64::INFINITY, Clock::MAX_SPEED),
            (1e-9, 0.0),
        ] {
            clock.set_speed(given);
            assert_eq!(clock.speed(), speed, "{given}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_sleeps_wakes_however_the_moment_comes() {
        let clock = Clock::start(60.0);
        let asleep = |until: Duration| {
            let clock = clock.clone();
            async move {
                clock.sleep_until(until).await;
                Instant::now()
            }
        };
        let began = Instant::now();
        assert_eq!(asleep(60 * SECOND).await - began, SECOND, "by time passing");

        let mut sleeper = pin!(asleep(3600 * SECOND));
        assert!(timeout_at(began + 2 * SECOND, &mut sleeper).await.is_err());
        clock.advance_to(3600 * SECOND);
        assert_eq!(sleeper.await - began, 2 * SECOND, "by a step");

        let mut sleeper = pin!(asleep(3620 * SECOND));
        clock.set_speed(0.0);
        assert!(
            timeout_at(began + 1000 * SECOND, &mut sleeper).await.is_err(),
            "the clock stands still"
        );
        clock.set_speed(2.0);
        assert_eq!(sleeper.await - began, 1010 * SECOND, "by another speed");

        assert_eq!(asleep(Duration::ZERO).await - began, 1010 * SECOND, "at once where it is past");
    }

    #[derive(Clone, Debug)]
    enum Event {
        Passes(u64),
        Step(u64),
        StepTo(u64),
        Speed(u32),
    }

    fn events() -> impl Strategy<Value = Vec<Event>> {
        let millis = 0..100_000u64;
        let event = prop_oneof![
            millis.clone().prop_map(Event::Passes),
            millis.clone().prop_map(Event::Step),
            millis.prop_map(Event::StepTo),
            (0..1000u32).prop_map(Event::Speed),
        ];
        prop::collection::vec(event, 0..30)
    }

    proptest! {
        #[test]
        fn shows_the_sum_of_what_happened(events in events()) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
            runtime.unwrap().block_on(async {
                let clock = Clock::start(1.0);
                let (mut expected, mut speed) = (Duration::ZERO, 1);
                for event in events {
                    match event {
                        Event::Passes(millis) => {
                            tokio::time::advance(Duration::from_millis(millis)).await;
                            expected += Duration::from_millis(millis) * speed;
                        }
                        Event::Step(millis) => {
                            clock.advance(Duration::from_millis(millis));
                            expected += Duration::from_millis(millis);
                        }
                        Event::StepTo(millis) => {
                            clock.advance_to(Duration::from_millis(millis));
                            expected = expected.max(Duration::from_millis(millis));
                        }
                        Event::Speed(other) => {
                            clock.set_speed(other.into());
                            speed = other;
                        }
                    }
                    assert_eq!(clock.now(), expected);
                }
            });
        }
    }
}
