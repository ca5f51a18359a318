//! Pauses of the submissions, the room for them, and their turn at the service.

use std::{future, pin::Pin, time::Duration};

use imagekiln::{Backoff, Client, Slot};
use tokio::time::{self, Instant};

/// The number of pauses without a finished job after which a run gives up.
const MAX_REFUSALS: u32 = 8;

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(256);

/// The time in which another worker may free slots.
const SLOT_PAUSE: Duration = Duration::from_millis(200);

/// A pause of the submissions, if there is one.
#[derive(Debug)]
pub(super) struct Pause {
    until: Option<Instant>,
    refusals: u32,
    backoff: Backoff,
}

impl Pause {
    /// Returns no pause.
    pub(super) fn none() -> Self {
        let backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        Self { until: None, refusals: 0, backoff }
    }

    pub(super) fn is_on(&self) -> bool {
        self.until.is_some()
    }

    pub(super) fn is_too_long(&self) -> bool {
        self.refusals > MAX_REFUSALS
    }

    /// Waits until the pause is over.
    pub(super) async fn over(&mut self) {
        match self.until {
            Some(until) => time::sleep_until(until).await,
            None => future::pending().await,
        }
        self.until = None;
    }

    /// Pauses after a refusal that may be temporary. Jobs that were refused together cause one
    /// pause.
    pub(super) fn after_refusal(&mut self, error: &imagekiln::Error) {
        if self.is_on() {
            return;
        }
        self.refusals += 1;
        let pause = self.backoff.pause();
        let pause = error.retry_after().map_or(pause, |wait| wait.max(pause));
        tracing::info!(kind = ?error.kind(), seconds = pause.as_secs(), "submissions pause");
        self.until = Some(Instant::now() + pause);
    }

    pub(super) fn job_ended(&mut self) {
        self.refusals = 0;
        self.backoff.reset();
    }
}

/// The number of jobs that a worker may have active. Other workers share the cap, so it shrinks if
/// the ledger refuses a job, and grows faster and faster while it does not.
#[derive(Debug)]
pub(super) struct Room {
    cap: usize,
    jobs: usize,
    growth: usize,
    grows_at: Option<Instant>,
}

impl Room {
    pub(super) fn new(cap: usize) -> Self {
        Self { cap, jobs: cap, growth: 1, grows_at: None }
    }

    pub(super) fn jobs(&self) -> usize {
        self.jobs
    }

    /// The ledger refused a job while so many others were active.
    pub(super) fn refused(&mut self, active: usize) {
        self.jobs = active.min(self.cap);
        self.growth = 1;
        self.grows_at = Some(Instant::now() + SLOT_PAUSE);
    }

    /// Waits until there is more room.
    pub(super) async fn grown(&mut self) {
        match self.grows_at {
            Some(at) => time::sleep_until(at).await,
            None => future::pending().await,
        }
        self.jobs = self.jobs.saturating_add(self.growth).min(self.cap);
        self.growth = self.growth.saturating_mul(2);
        self.grows_at = (self.jobs < self.cap).then(|| Instant::now() + SLOT_PAUSE);
    }
}

type Waiting = Pin<Box<dyn Future<Output = Result<Slot, imagekiln::Error>> + Send>>;

/// The wait for the slot of the next submission.
#[derive(Default)]
pub(super) struct Turn(Option<Waiting>);

impl Turn {
    /// Waits for a slot of the client. The wait continues with the next call if this one is
    /// dropped.
    pub(super) async fn slot(&mut self, client: &Client) -> Result<Slot, imagekiln::Error> {
        let waiting = self.0.get_or_insert_with(|| {
            let client = client.clone();
            Box::pin(async move { client.slot().await })
        });
        let slot = waiting.await;
        self.0 = None;
        slot
    }

    /// Leaves the slot to others.
    pub(super) fn give_up(&mut self) {
        self.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn room_shrinks_to_what_was_allowed_and_grows_until_the_next_refusal() {
        let mut room = Room::new(12);
        assert_eq!(room.jobs(), 12);
        room.refused(3);
        let mut jobs = vec![room.jobs()];
        for refused in [None, None, Some(5), None, None] {
            refused.inspect(|active| room.refused(*active));
            room.grown().await;
            jobs.push(room.jobs());
        }
        assert_eq!(jobs, [3, 4, 6, 6, 8, 12]);
        assert!(room.grows_at.is_none());
    }
}
