//! A process that is stopped in the middle of a write, which may have the lock of a record.
//!
//! Its thread waits on the real clock, because the paused one stands still while a thread works. It
//! continues when no other process waits for its journal any more.

use std::{
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    thread,
    time::Duration,
};

use crate::process::Process;

const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// For how many looks there must be no calls.
const QUIET: u32 = 5;

/// For how many looks a call may wait: for 30 seconds, which is longer than all limits.
const MOST_LOOKS: u32 = 1_500;

/// The calls of journals that have begun, and those that have ended.
#[derive(Default)]
pub(crate) struct Calls {
    begun: AtomicU32,
    ended: AtomicU32,
    is_stuck: AtomicBool,
}

impl Calls {
    /// Whether a call waited until the process that was stopped continued.
    pub(crate) fn is_stuck(&self) -> bool {
        self.is_stuck.load(Ordering::Relaxed)
    }

    fn under_way(&self) -> u32 {
        let ended = self.ended.load(Ordering::SeqCst);
        self.begun.load(Ordering::SeqCst).saturating_sub(ended)
    }
}

/// A call of the journal of a process.
pub(crate) struct Call<'a>(&'a Process);

impl<'a> Call<'a> {
    pub(crate) fn begin(process: &'a Process) -> Self {
        for calls in [&process.machine.calls, &process.calls] {
            calls.begun.fetch_add(1, Ordering::SeqCst);
        }
        Self(process)
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        for calls in [&self.0.machine.calls, &self.0.calls] {
            calls.ended.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Stops this thread of a process.
pub(crate) fn stop(process: &Process) {
    let (all, own) = (&process.machine.calls, &process.calls);
    let (mut quiet, mut looks, mut ended) = (0, 0, 0);
    while quiet < QUIET {
        thread::sleep(BETWEEN_LOOKS);
        let has_others = all.under_way() > own.under_way();
        quiet = if has_others { 0 } else { quiet + 1 };
        let before = std::mem::replace(&mut ended, all.ended.load(Ordering::SeqCst));
        looks = if ended == before { looks + 1 } else { 0 };
        if looks == MOST_LOOKS {
            all.is_stuck.store(true, Ordering::Relaxed);
            return;
        }
    }
}
