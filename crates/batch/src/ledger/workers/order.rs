//! The order in which the ledger records the submissions of a run: the order in which the run
//! starts the jobs, even if the runtime polls them in a different order. Otherwise, it would be
//! left to chance which jobs a budget pays for.

use std::{
    future::{poll_fn, ready},
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, Waker},
};

use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::{ledger::Ledger, lock};

/// The order of the jobs of a run.
#[derive(Default)]
pub(crate) struct Order(Arc<Mutex<()>>);

/// The wait for a place.
pub(in crate::ledger) type Waiting = Pin<Box<dyn Future<Output = OwnedMutexGuard<()>> + Send>>;

impl Order {
    /// Takes the next place, after all others, and returns the wait for it.
    fn next(&self) -> Waiting {
        let mut waiting = Box::pin(Arc::clone(&self.0).lock_owned());
        // The mutex is fair: the first poll takes the place in its queue.
        match waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(place) => Box::pin(ready(place)),
            Poll::Pending => waiting,
        }
    }
}

/// The place of a job. When it is dropped, the jobs after it no longer wait for this job.
pub(crate) struct Place {
    ledger: Ledger,
    job: i64,
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.ledger.0.places).remove(&self.job);
    }
}

impl Ledger {
    /// Gives a job the next place.
    pub(crate) fn take_place(&self, order: &Order, job: i64) -> Place {
        lock(&self.0.places).insert(job, order.next());
        Place { ledger: self.clone(), job }
    }

    /// Waits until a job is first in the order. The job stays first until its submission is
    /// recorded.
    pub(crate) async fn reach_place(&self, job: i64) {
        let waiting = lock(&self.0.places).remove(&job);
        if let Some(waiting) = waiting {
            let place = waiting.await;
            lock(&self.0.places).insert(job, Box::pin(ready(place)));
        }
    }

    /// Records the submission of a job when it is its turn. The first poll of `record` puts its
    /// transaction into the queue of the database, which keeps the order: the next job need not
    /// wait for the commit.
    pub(in crate::ledger) async fn in_order<T>(
        &self,
        job: Option<i64>,
        record: impl Future<Output = T>,
    ) -> T {
        let waiting = job.and_then(|job| lock(&self.0.places).remove(&job));
        let mut record = pin!(record);
        if let Some(waiting) = waiting {
            let _place = waiting.await;
            let queued = poll_fn(|context| Poll::Ready(record.as_mut().poll(context))).await;
            if let Poll::Ready(done) = queued {
                return done;
            }
        }
        record.await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn places_follow_each_other_whoever_waits_first() {
        let order = Order::default();
        let [first, second, mut third] = [order.next(), order.next(), order.next()];
        let is_waiting = async |place: &mut Waiting| timeout(Duration::ZERO, place).await.is_err();
        assert!(is_waiting(&mut third).await);
        let first = first.await;
        assert!(is_waiting(&mut third).await);
        drop((first, second));
        third.await;
    }
}
