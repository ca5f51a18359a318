//! The worker of a batch: registers and retires it. It becomes a new one if it loses its lease.

use std::{
    future,
    pin::pin,
    sync::{self, Arc, PoisonError},
};

use imagekiln::Client;
use tokio::sync::watch;

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
    /// Runs a worker until it ends. Dropping the future stops it.
    pub(super) async fn run_worker(&mut self, output: &Output) -> Result<(), Error> {
        self.retire().await?;
        self.ledger.end_pause_of_refusals().await?;
        let (stop, stopped) = watch::channel(false);
        loop {
            let worker = run(self.worker(output, &stopped), self.unretired.clone());
            let ended = self.wait_for_worker(worker, &stop).await;
            // Also records the responses that were still in flight.
            let retired = self.retire().await;
            let lost_a_lease = first(ended, retired)?;
            if !lost_a_lease || *stopped.borrow() {
                return Ok(());
            }
            // A response may have arrived since the ledger was last read.
        }
    }

    /// Retires the worker of this run, or that of an earlier one that was dropped.
    async fn retire(&mut self) -> Result<(), Error> {
        self.unretired.retire(&self.client, &self.ledger, &self.unrecorded).await
    }

    pub(super) fn worker(&self, output: &Output, stopped: &watch::Receiver<bool>) -> Worker {
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
            marking: Arc::new(Marking::new(output.clone())),
        }
    }

    /// Returns what the worker returns. Tells it to stop when the signal arrives.
    async fn wait_for_worker(
        &mut self,
        worker: impl Future<Output = Result<bool, Error>>,
        stop: &watch::Sender<bool>,
    ) -> Result<bool, Error> {
        let mut worker = pin!(worker);
        loop {
            let signal = async {
                match &mut self.stop {
                    Some(signal) => signal.await,
                    None => future::pending().await,
                }
            };
            tokio::select! {
                ended = &mut worker => return ended,
                () = signal => {
                    self.stop = None;
                    stop.send_replace(true);
                }
            }
        }
    }
}

/// Runs a worker, and continues as a new worker whenever it loses its lease. Returns whether it has
/// lost one.
async fn run(worker: Worker, fleet: Fleet) -> Result<bool, Error> {
    let worker = Arc::new(worker);
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
