//! The number of jobs that a worker may have active, and its wait for the next slot of the client.

use std::{future, pin::Pin, time::Duration};

use imagekiln::{Client, Slot};
use tokio::time::{self, Instant};

/// The number of active jobs after an outage of the service.
const AFTER_OUTAGE: usize = 8;

/// The time after which the room grows again, because other workers may have finished jobs.
const SLOT_PAUSE: Duration = Duration::from_millis(200);

/// The number of jobs that a worker may have active. The maximum is shared by all workers of the
/// ledger, so the number shrinks if the ledger refuses a job, and grows faster and faster while it
/// does not.
#[derive(Debug)]
pub(super) struct Room {
    most: usize,
    jobs: usize,
    growth: usize,
    grows_at: Option<Instant>,
}

impl Room {
    pub(super) fn new(most: usize) -> Self {
        Self { most, jobs: most, growth: 1, grows_at: None }
    }

    pub(super) fn jobs(&self) -> usize {
        self.jobs
    }

    /// Notes that the ledger refused a job while this many others were active.
    pub(super) fn refused(&mut self, active: usize) {
        self.jobs = active.min(self.most);
        self.growth = 1;
        self.grows_at = Some(Instant::now() + SLOT_PAUSE);
    }

    /// Notes that the service does not accept submissions. After the outage, the worker starts with
    /// few jobs, and each job that ends makes room for one more.
    pub(super) fn outage(&mut self) {
        self.jobs = self.jobs.min(AFTER_OUTAGE);
        self.grows_at = None;
    }

    /// Notes that a job has ended whose submission was accepted.
    pub(super) fn ended(&mut self) {
        if self.grows_at.is_none() {
            self.jobs = (self.jobs + 1).min(self.most);
        }
    }

    /// Waits until there is more room.
    pub(super) async fn grown(&mut self) {
        match self.grows_at {
            Some(at) => time::sleep_until(at).await,
            None => future::pending().await,
        }
        self.jobs = self.jobs.saturating_add(self.growth).min(self.most);
        self.growth = self.growth.saturating_mul(2);
        self.grows_at = (self.jobs < self.most).then(|| Instant::now() + SLOT_PAUSE);
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

    /// Stops waiting, and leaves the slot to others.
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

    #[test]
    fn after_an_outage_each_picture_makes_room() {
        let mut room = Room::new(10);
        room.outage();
        let mut jobs = vec![room.jobs()];
        for _ in 0..3 {
            room.ended();
            jobs.push(room.jobs());
        }
        assert_eq!(jobs, [8, 9, 10, 10]);
    }
}
