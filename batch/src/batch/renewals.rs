//! Renews the lease of a worker that has no run.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{task::JoinHandle, time};

use super::worker::Worker;
use crate::{ErrorKind, Ledger};

/// The number of renewals within the duration of a lease.
pub(super) const RENEWALS: u32 = 3;

/// The task that renews the lease.
pub(super) struct Renewals(Mutex<JoinHandle<()>>);

impl Renewals {
    pub(super) fn start(worker: &Worker, number: i64) -> Self {
        Self(Mutex::new(spawn(worker, number)))
    }

    pub(super) fn restart(&self, worker: &Worker, number: i64) {
        *self.lock() = spawn(worker, number);
    }

    pub(super) fn has_lost_the_lease(&self) -> bool {
        self.lock().is_finished()
    }

    fn lock(&self) -> MutexGuard<'_, JoinHandle<()>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Renewals {
    fn drop(&mut self) {
        self.lock().abort();
    }
}

fn spawn(worker: &Worker, number: i64) -> JoinHandle<()> {
    tokio::spawn(renew(worker.ledger.clone(), number, worker.settings.lease))
}

/// Returns when the lease is lost.
async fn renew(ledger: Ledger, number: i64, lease: Duration) {
    loop {
        time::sleep(lease / RENEWALS).await;
        let renewed = async {
            ledger.renew(number, lease).await?;
            ledger.take_over().await
        };
        match renewed.await {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::Lease => return,
            Err(error) => tracing::warn!(error = error.chain(), "could not renew the lease"),
        }
    }
}
