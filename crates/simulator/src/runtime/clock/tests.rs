use std::pin::pin;

use proptest::prelude::*;
use tokio::time::timeout_at;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn huge_steps_do_not_overflow() {
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
async fn speeds_are_clamped_to_the_range() {
    let clock = Clock::start(2.0);
    for (given, speed) in [
        (f64::NAN, 2.0),
        (-1.0, 0.0),
        (f64::NAN, 0.0),
        (f64::INFINITY, Clock::MAX_SPEED),
        (0.5, 0.5),
        (1e-9, 0.0),
    ] {
        clock.set_speed(given);
        assert_eq!(clock.speed(), speed, "{given}");
    }
}

#[tokio::test(start_paused = true)]
async fn sleepers_wake_however_the_moment_is_reached() {
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
    assert!(timeout_at(began + 1000 * SECOND, &mut sleeper).await.is_err(), "the clock is stopped");
    clock.set_speed(2.0);
    assert_eq!(sleeper.await - began, 1010 * SECOND, "by another speed");

    assert_eq!(
        asleep(Duration::ZERO).await - began,
        1010 * SECOND,
        "at once for a time in the past"
    );
}

proptest! {
    #[test]
    fn moved_times_keep_their_distance(from: u64, to: u64, distance: u64) {
        let [from, to, distance] = [from, to, distance].map(Duration::from_nanos);
        let mut time = from + distance;
        Shift { from, to }.apply(&mut time);
        prop_assert_eq!(time, to + distance);
        Shift { from: Duration::MAX, to }.apply(&mut time);
        Shift { from, to: Duration::MAX }.apply(&mut time);
    }
}

proptest! {
    #[test]
    fn it_shows_the_sum_of_all_events(
        events in prop::collection::vec((0..4, 0..100_000u32), 0..30)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build();
        runtime.unwrap().block_on(async {
            let clock = Clock::start(1.0);
            let (mut expected, mut speed) = (Duration::ZERO, 1);
            for (event, number) in events {
                let time = Duration::from_millis(number.into());
                match event {
                    0 => {
                        tokio::time::advance(time).await;
                        expected += time * speed;
                    }
                    1 => {
                        clock.advance(time);
                        expected += time;
                    }
                    2 => {
                        clock.advance_to(time);
                        expected = expected.max(time);
                    }
                    _ => {
                        speed = number % 1000;
                        clock.set_speed(speed.into());
                    }
                }
                assert_eq!(clock.now(), expected);
            }
        });
    }
}
