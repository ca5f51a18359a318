//! Pauses of the submissions.

use std::{future, time::Duration};

use imagekiln::Backoff;
use tokio::time::{self, Instant};

/// The number of pauses without a finished job after which a run gives up.
const MAX_REFUSALS: u32 = 8;

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(256);

/// The pause until another worker may have freed a slot.
const SLOT_PAUSE: Duration = Duration::from_millis(200);

/// A pause of the submissions, if there is one.
#[derive(Debug)]
pub(super) struct Pause {
    until: Option<Instant>,
    /// Whether the end of a job ends the pause.
    is_for_a_slot: bool,
    refusals: u32,
    backoff: Backoff,
}

impl Pause {
    /// Returns no pause.
    pub(super) fn none() -> Self {
        let backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        Self { until: None, is_for_a_slot: false, refusals: 0, backoff }
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

    /// Pauses until a slot may be free.
    pub(super) fn briefly(&mut self) {
        if self.until.is_none() {
            self.until = Some(Instant::now() + SLOT_PAUSE);
            self.is_for_a_slot = true;
        }
    }

    /// Pauses after a refusal that may be temporary. Jobs that were refused together cause one
    /// pause.
    pub(super) fn after_refusal(&mut self, error: &imagekiln::Error) {
        if self.is_on() && !self.is_for_a_slot {
            return;
        }
        self.refusals += 1;
        let pause = self.backoff.pause();
        let pause = error.retry_after().map_or(pause, |wait| wait.max(pause));
        tracing::info!(kind = ?error.kind(), seconds = pause.as_secs(), "submissions pause");
        self.until = Some(Instant::now() + pause);
        self.is_for_a_slot = false;
    }

    pub(super) fn job_ended(&mut self) {
        self.refusals = 0;
        self.backoff.reset();
        if self.is_for_a_slot {
            self.until = None;
        }
    }
}
