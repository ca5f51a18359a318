//! A fixed number of histories, on all processors.

use std::sync::atomic::{AtomicU64, Ordering};

use imagekiln_histories::live;

const HISTORIES: u64 = 200;

#[test]
fn no_picture_is_lost_or_paid_for_twice() {
    let next = AtomicU64::new(0);
    let live_some = || {
        let seeds = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        let lives = seeds.take_while(|seed| *seed < HISTORIES).map(live);
        lives.filter_map(Result::err).map(|broken| broken.to_string()).collect::<Vec<_>>()
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let broken: Vec<String> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(live_some)).collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
