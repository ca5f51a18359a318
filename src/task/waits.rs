//! The waits of a client, which an event can wake.

use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use crate::Client;

/// The tasks that are waited for, by their ids.
#[derive(Default)]
pub(crate) struct Waits(Mutex<HashMap<String, watch::Sender<()>>>);

impl Waits {
    /// Makes every wait for this task poll at once.
    #[cfg(feature = "webhook")]
    pub(crate) fn wake(&self, task_id: &str) {
        if let Some(waits) = self.lock().get(task_id) {
            waits.send_replace(());
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, watch::Sender<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among the waits, until it is dropped.
pub(super) struct Wake {
    client: Client,
    task_id: String,
    events: watch::Receiver<()>,
}

impl Wake {
    pub(super) fn new(client: &Client, task_id: &str) -> Self {
        let events = client.0.waits.lock().entry(task_id.to_owned()).or_default().subscribe();
        Self { client: client.clone(), task_id: task_id.to_owned(), events }
    }

    /// Returns when an event has arrived since the last time that this returned.
    pub(super) async fn woken(&mut self) {
        // The sender stays in the map as long as this does.
        if self.events.changed().await.is_err() {
            std::future::pending().await
        }
    }
}

impl Drop for Wake {
    fn drop(&mut self) {
        let mut waits = self.client.0.waits.lock();
        // This receiver still counts.
        if waits.get(&self.task_id).is_some_and(|waits| waits.receiver_count() <= 1) {
            waits.remove(&self.task_id);
        }
    }
}

impl fmt::Debug for Wake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wake").field("task_id", &self.task_id).finish_non_exhaustive()
    }
}
