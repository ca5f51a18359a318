//! What runs and dispatchers share: a worker in the ledger that claims jobs while it has a lease,
//! and that is registered again if it loses the lease.

use std::{
    sync::{self, Arc, PoisonError},
    time::Duration,
};

use imagekiln::Client;
use tokio::{
    sync::{Mutex, MutexGuard, watch},
    task::JoinHandle,
    time,
};

use super::{
    unrecorded::{Unrecorded, first},
    worker::Worker,
};
use crate::{Error, ErrorKind, Ledger};

/// The number of renewals within the duration of a lease.
const RENEWALS: u32 = 3;

pub(super) struct Engine {
    pub(super) worker: Arc<Worker>,
    fleet: Fleet,
    registration: Mutex<Registration>,
}

impl Engine {
    /// Registers the worker. The fleet retires it.
    pub(super) async fn start(worker: Worker, fleet: Fleet) -> Result<Self, Error> {
        let registration = Mutex::new(Registration::new(&worker, &fleet).await?);
        Ok(Self { worker: Arc::new(worker), fleet, registration })
    }

    /// Returns the number of the worker, and that of its next claim.
    pub(super) async fn next_claim(&self) -> Result<(i64, i64), Error> {
        let mut registration = self.registration().await?;
        registration.claims += 1;
        Ok((registration.number, registration.claims))
    }

    /// Returns the number of the worker. The receiver gets each renewal of its lease, and fails
    /// when the lease is lost.
    pub(super) async fn lease(&self) -> Result<(i64, watch::Receiver<()>), Error> {
        let registration = self.registration().await?;
        Ok((registration.number, registration.lease.renewed.clone()))
    }

    /// Notes that the ledger no longer knows the worker with this number.
    pub(super) async fn lost(&self, number: i64) {
        let mut registration = self.registration.lock().await;
        if registration.number == number {
            registration.lease = Lease::lost();
        }
    }

    /// Returns the registration, which is a new one if the lease of the last one is lost.
    async fn registration(&self) -> Result<MutexGuard<'_, Registration>, Error> {
        let mut registration = self.registration.lock().await;
        if registration.lease.is_lost() {
            tracing::warn!("the lease expired; continuing as a new worker");
            *registration = Registration::new(&self.worker, &self.fleet).await?;
        }
        Ok(registration)
    }
}

/// A worker as the ledger knows it.
struct Registration {
    number: i64,
    /// How many claims it has made.
    claims: i64,
    lease: Lease,
}

impl Registration {
    async fn new(worker: &Worker, fleet: &Fleet) -> Result<Self, Error> {
        let number = worker.register().await?;
        fleet.add(number);
        let lease = Lease::start(worker.ledger.clone(), number, worker.settings.lease);
        Ok(Self { number, claims: 0, lease })
    }
}

/// The task that renews a lease, and takes over the jobs of workers whose leases expired.
struct Lease {
    task: Option<JoinHandle<()>>,
    /// Its sender is dropped when the lease is lost.
    renewed: watch::Receiver<()>,
}

impl Lease {
    fn start(ledger: Ledger, number: i64, lease: Duration) -> Self {
        let (sender, renewed) = watch::channel(());
        Self { task: Some(tokio::spawn(renew(ledger, number, lease, sender))), renewed }
    }

    fn lost() -> Self {
        Self { task: None, renewed: watch::channel(()).1 }
    }

    fn is_lost(&self) -> bool {
        self.renewed.has_changed().is_err()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }
}

/// Returns when the lease is lost.
async fn renew(ledger: Ledger, number: i64, lease: Duration, renewed: watch::Sender<()>) {
    loop {
        time::sleep(lease / RENEWALS).await;
        let renewal = async {
            ledger.renew(number, lease).await?;
            ledger.take_over().await
        };
        match renewal.await {
            Ok(()) => renewed.send_replace(()),
            Err(error) if error.kind() == ErrorKind::Lease => return,
            Err(error) => tracing::warn!(error = error.chain(), "could not renew the lease"),
        }
    }
}

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
