//! What runs and dispatchers share: a worker in the ledger that claims jobs while it has a lease,
//! and that is registered again if it loses the lease.

use std::{
    convert::Infallible,
    sync::{self, Arc, PoisonError},
};

use imagekiln::Client;
use tokio::{
    sync::{Mutex, MutexGuard, watch},
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
    lease: watch::Sender<Lease>,
    /// The number of claims so far. The lock is held while the worker is registered again.
    claims: Mutex<i64>,
    /// Held during a renewal.
    renewing: Mutex<()>,
}

/// The lease of a worker.
#[derive(Clone, Copy)]
pub(super) struct Lease {
    /// The number of the worker.
    pub(super) worker: i64,
    pub(super) is_lost: bool,
}

impl Engine {
    /// Registers the worker, and adds its number to the fleet, which retires it later.
    pub(super) async fn start(worker: Worker, fleet: Fleet) -> Result<Self, Error> {
        let lease = watch::Sender::new(register(&worker, &fleet).await?);
        let (claims, renewing) = (Mutex::default(), Mutex::default());
        Ok(Self { worker: Arc::new(worker), fleet, lease, claims, renewing })
    }

    /// Returns the number of the worker, and the number of its next claim. If the lease is lost,
    /// registers a new worker first.
    pub(super) async fn next_claim(&self) -> Result<(i64, i64), Error> {
        let mut claims = self.claims.lock().await;
        let mut lease = *self.lease.borrow();
        if lease.is_lost {
            tracing::warn!("the lease expired; continuing as a new worker");
            lease = register(&self.worker, &self.fleet).await?;
            self.lease.send_replace(lease);
        }
        *claims += 1;
        Ok((lease.worker, *claims))
    }

    /// Returns a receiver that is notified when the lease is renewed or lost.
    pub(super) fn lease(&self) -> watch::Receiver<Lease> {
        self.lease.subscribe()
    }

    /// Notes that other workers may have taken over the jobs of the worker with this number.
    pub(super) fn lost(&self, worker: i64) {
        self.lease.send_if_modified(|lease| {
            let is_new = lease.worker == worker && !lease.is_lost;
            lease.is_lost |= is_new;
            is_new
        });
    }

    /// Renews the lease, and takes over the jobs of workers whose leases expired. Never returns. A
    /// run polls this future itself instead of spawning a task, so that nothing keeps the ledger
    /// open after the run is dropped.
    pub(super) async fn renew(&self) -> Infallible {
        let Worker { ledger, settings, .. } = &*self.worker;
        loop {
            time::sleep(settings.lease / RENEWALS).await;
            let _renewing = self.renewing.lock().await;
            let Lease { worker, is_lost } = *self.lease.borrow();
            if is_lost {
                continue;
            }
            let renewal = async {
                ledger.renew(worker, settings.lease).await?;
                ledger.take_over().await
            };
            match renewal.await {
                Ok(()) => self.lease.send_modify(|_| {}),
                Err(error) if error.kind() == ErrorKind::Lease => self.lost(worker),
                Err(error) => {
                    tracing::warn!(error = error.chain(), "could not renew the lease");
                }
            }
        }
    }

    /// Waits for a renewal that has begun, and prevents the next one while the caller holds the
    /// guard. An interrupted renewal would keep the ledger open for a moment.
    pub(super) async fn renewed(&self) -> MutexGuard<'_, ()> {
        self.renewing.lock().await
    }

    /// Ends this worker, under all numbers that it has had.
    pub(super) async fn retire(&self) -> Result<(), Error> {
        let Worker { client, ledger, unrecorded, .. } = &*self.worker;
        self.fleet.retire(client, ledger, unrecorded).await
    }
}

async fn register(worker: &Worker, fleet: &Fleet) -> Result<Lease, Error> {
    let number = worker.register().await?;
    fleet.add(number);
    Ok(Lease { worker: number, is_lost: false })
}

/// Workers that were registered and not retired.
#[derive(Clone, Default)]
pub(super) struct Fleet(Arc<sync::Mutex<Vec<i64>>>);

impl Fleet {
    pub(super) fn add(&self, worker: i64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
    }

    /// Retires all workers. First waits for their submissions in flight, so that the ledger knows
    /// the outcome of each.
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
        unrecorded.drain(client).await.map_err(Error::because(
            ErrorKind::Client,
            "submissions of an earlier run are still in flight",
        ))?;
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
