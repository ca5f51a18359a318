//! The active waits of a client, which webhook events can wake.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use crate::Client;

/// The active waits by task id.
#[derive(Default)]
pub(crate) struct Waits(Mutex<HashMap<String, Waiting>>);

/// The waits for one task.
#[derive(Default)]
struct Waiting {
    count: usize,
    events: watch::Sender<()>,
}

impl Waits {
    /// Makes every wait for this task poll immediately.
    #[cfg(feature = "webhook")]
    pub(crate) fn wake(&self, task_id: &str) {
        if let Some(waiting) = self.lock().get(task_id) {
            waiting.events.send_replace(());
        }
    }

    /// Whether there is an active wait for this task.
    pub(super) fn has(&self, task_id: &str) -> bool {
        self.lock().contains_key(task_id)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Registers a wait until it is dropped.
pub(super) struct Wake {
    client: Client,
    task_id: String,
    events: watch::Receiver<()>,
}

impl Wake {
    pub(super) fn new(client: &Client, task_id: &str) -> Self {
        let mut waits = client.tasks().waits.lock();
        let waiting = waits.entry(task_id.to_owned()).or_default();
        waiting.count += 1;
        let events = waiting.events.subscribe();
        drop(waits);
        Self { client: client.clone(), task_id: task_id.to_owned(), events }
    }

    /// Returns when an event has arrived since the previous call returned.
    pub(super) async fn woken(&mut self) {
        // Cannot fail: the sender stays in the map until `self` is dropped.
        if self.events.changed().await.is_err() {
            std::future::pending().await
        }
    }
}

impl Drop for Wake {
    fn drop(&mut self) {
        let mut waits = self.client.tasks().waits.lock();
        if let Some(waiting) = waits.get_mut(&self.task_id) {
            waiting.count -= 1;
            if waiting.count == 0 {
                waits.remove(&self.task_id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_removed_when_its_last_wait_ends() {
        let client =
            Client::builder().api_key("key").base_url("http://127.0.0.1:9").build().unwrap();
        let (first, second) = (Wake::new(&client, "t1"), Wake::new(&client, "t1"));
        drop(first);
        assert_eq!(client.tasks().waits.lock().len(), 1);
        drop(second);
        assert_eq!(client.tasks().waits.lock().len(), 0);
    }
}
