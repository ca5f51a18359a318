//! What runs and dispatchers share: a worker in the ledger that claims jobs while it has a lease,
//! and that is registered again if it loses the lease.

use std::{convert::Infallible, sync::Arc};

use tokio::{
    sync::{Mutex, watch},
    time,
};

use super::{Settings, worker::Worker};
use crate::{Error, ErrorKind};

/// The number of renewals within the duration of a lease.
const RENEWALS: u32 = 3;

pub(super) struct Engine {
    pub(super) worker: Arc<Worker>,
    /// Changes when the lease is renewed or lost.
    pub(super) lease: watch::Sender<Lease>,
    /// The number of claims so far. The lock is held while the worker is registered again.
    claims: Mutex<i64>,
    /// Held during a renewal. Whoever ends the engine locks it first, to wait for a renewal that
    /// has begun: an interrupted renewal would keep the ledger open for a moment.
    pub(super) renewing: Mutex<()>,
}

/// The lease of a worker.
#[derive(Clone, Copy)]
pub(super) struct Lease {
    /// The number of the worker.
    pub(super) worker: i64,
    pub(super) is_lost: bool,
}

impl Engine {
    /// Registers the worker, which [`Unrecorded::retire`](super::Unrecorded::retire) retires later.
    pub(super) async fn start(worker: Worker) -> Result<Self, Error> {
        let lease = watch::Sender::new(register(&worker).await?);
        let (claims, renewing) = (Mutex::default(), Mutex::default());
        Ok(Self { worker: Arc::new(worker), lease, claims, renewing })
    }

    /// Returns the number of the worker, and the number of its next claim. If the lease is lost,
    /// registers a new worker first.
    pub(super) async fn next_claim(&self) -> Result<(i64, i64), Error> {
        let mut claims = self.claims.lock().await;
        let mut lease = *self.lease.borrow();
        if lease.is_lost {
            tracing::warn!("the lease expired; continuing as a new worker");
            lease = register(&self.worker).await?;
            self.lease.send_replace(lease);
        }
        *claims += 1;
        Ok((lease.worker, *claims))
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
}

async fn register(worker: &Worker) -> Result<Lease, Error> {
    let Settings { lease, limits, .. } = worker.settings;
    let number = worker.ledger.register(lease, limits, Arc::clone(&worker.marking)).await?;
    worker.unrecorded.registered(number);
    Ok(Lease { worker: number, is_lost: false })
}
