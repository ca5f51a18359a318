//! The workers of a batch: registers and retires them.

use std::{
    future, panic,
    sync::{self, Arc, PoisonError},
};

use imagekiln::Client;
use tokio::{sync::watch, task::JoinSet};

use super::{
    Batch,
    run::Run,
    unrecorded::{Unrecorded, first},
    worker::Worker,
};
use crate::{Error, ErrorKind, Ledger, ledger::Marking, output::Output};

/// Workers that were registered and not retired.
#[derive(Clone, Default)]
pub(super) struct Fleet(Arc<sync::Mutex<Vec<i64>>>);

impl Fleet {
    pub(super) fn add(&self, worker: i64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
    }

    /// Retires all workers. Waits for their submissions first, so that the state of every job is
    /// settled.
    pub(super) async fn retire(
        &self,
        client: &Client,
        ledger: &Ledger,
        unrecorded: &Unrecorded,
    ) -> Result<(), Error> {
        let workers = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if workers.is_empty() {
            return Ok(());
        }
        unrecorded.drain(client).await.map_err(|error| {
            Error::new(ErrorKind::Client, "submissions of an earlier run are still in flight")
                .with_source(error)
        })?;
        let mut result = Ok(());
        for worker in workers {
            let retired = ledger.retire(worker).await;
            if retired.is_ok() {
                self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|id| *id != worker);
            }
            result = first(result, retired);
        }
        result
    }
}

impl Batch {
    /// Runs the workers until they end. Dropping the future stops them.
    pub(super) async fn run_workers(&mut self, output: &Output) -> Result<(), Error> {
        self.retire().await?;
        self.ledger.end_pause_of_refusals().await?;
        let (stop, stopped) = watch::channel(false);
        loop {
            let workers = self.start_workers(output, &stopped);
            let ended = self.wait_for_workers(workers, &stop).await;
            // Also records the responses that were still in flight.
            let retired = self.retire().await;
            let lost_a_lease = first(ended, retired)?;
            if !lost_a_lease || *stopped.borrow() {
                return Ok(());
            }
            // A response may have arrived since the ledger was last read.
        }
    }

    /// Retires the workers of this run, or those of an earlier one that was dropped.
    async fn retire(&mut self) -> Result<(), Error> {
        self.unretired.retire(&self.client, &self.ledger, &self.unrecorded).await
    }

    fn start_workers(&self, output: &Output, stopped: &watch::Receiver<bool>) -> Workers {
        let marking = Arc::new(Marking::new(output.clone()));
        let mut workers = JoinSet::new();
        for _ in 0..self.settings.workers {
            let worker = Arc::new(self.worker(output, stopped, Arc::clone(&marking)));
            workers.spawn(run(worker, self.unretired.clone()));
        }
        workers
    }

    pub(super) fn worker(
        &self,
        output: &Output,
        stopped: &watch::Receiver<bool>,
        marking: Arc<Marking>,
    ) -> Worker {
        Worker {
            client: self.client.clone(),
            ledger: self.ledger.clone(),
            output: output.clone(),
            on_change: self.on_change.clone(),
            unrecorded: self.unrecorded.clone(),
            settings: self.settings.clone(),
            receivers: Arc::downgrade(&self.receivers),
            stopped: stopped.clone(),
            admission: Arc::default(),
            marking,
        }
    }

    /// Returns whether a worker lost its lease, or the first error.
    async fn wait_for_workers(
        &mut self,
        mut workers: Workers,
        stop: &watch::Sender<bool>,
    ) -> Result<bool, Error> {
        let mut result = Ok(false);
        loop {
            let signal = async {
                match &mut self.stop {
                    Some(signal) => signal.await,
                    None => future::pending().await,
                }
            };
            tokio::select! {
                ended = workers.join_next() => match ended {
                    Some(Ok(Ok(lost))) => result = result.map(|others| others || lost),
                    Some(Ok(Err(error))) => result = first(result, Err(error)),
                    Some(Err(error)) => panic::resume_unwind(error.into_panic()),
                    None => return result,
                },
                () = signal => {
                    self.stop = None;
                    stop.send_replace(true);
                }
            }
        }
    }
}

/// The tasks of the workers. Each returns whether it lost its lease.
type Workers = JoinSet<Result<bool, Error>>;

/// Runs a worker, and continues as a new worker whenever it loses its lease.
async fn run(worker: Arc<Worker>, fleet: Fleet) -> Result<bool, Error> {
    let mut lost_a_lease = false;
    loop {
        let number = worker.register().await?;
        fleet.add(number);
        match Run::new(Arc::clone(&worker), number).finish().await {
            Err(error) if error.kind() == ErrorKind::Lease => {
                tracing::warn!(%error, "continuing as a new worker");
                lost_a_lease = true;
            }
            ended => return ended.map(|()| lost_a_lease),
        }
    }
}
