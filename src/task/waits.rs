//! The active waits of a client, which webhook events can wake.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use crate::{Client, TaskRef};

/// The active waits by task id.
#[derive(Default)]
pub(crate) struct Waits(Mutex<HashMap<String, Vec<Arc<Notify>>>>);

impl Waits {
    /// Makes every wait for this task poll immediately.
    #[cfg(feature = "webhook")]
    pub(crate) fn wake(&self, task_id: &str) {
        if let Some(waits) = self.lock().get(task_id) {
            waits.iter().for_each(|event| event.notify_one());
        }
    }

    /// Whether there is an active wait for this task.
    pub(super) fn has(&self, task_id: &str) -> bool {
        self.lock().contains_key(task_id)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Vec<Arc<Notify>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Registers a wait until it is dropped.
pub(super) struct Wake {
    client: Client,
    task: Arc<TaskRef>,
    /// Keeps an event that arrives while nothing waits for it. Thousands of tasks can wait, and
    /// other channels need several times its memory.
    event: Arc<Notify>,
}

impl Wake {
    pub(super) fn new(client: &Client, task: &Arc<TaskRef>) -> Self {
        let event = Arc::new(Notify::new());
        let mut waits = client.tasks().waits.lock();
        waits.entry(task.id().to_owned()).or_default().push(Arc::clone(&event));
        drop(waits);
        Self { client: client.clone(), task: Arc::clone(task), event }
    }

    /// Returns when an event has arrived since the previous call returned.
    pub(super) async fn woken(&self) {
        self.event.notified().await;
    }
}

impl Drop for Wake {
    fn drop(&mut self) {
        let mut waits = self.client.tasks().waits.lock();
        if let Some(events) = waits.get_mut(self.task.id()) {
            events.retain(|event| !Arc::ptr_eq(event, &self.event));
            if events.is_empty() {
                waits.remove(self.task.id());
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
        let task = Arc::new(TaskRef::new("t1", "http://127.0.0.1:9/poll", None));
        let (first, second) = (Wake::new(&client, &task), Wake::new(&client, &task));
        drop(first);
        assert_eq!(client.tasks().waits.lock().len(), 1);
        drop(second);
        assert_eq!(client.tasks().waits.lock().len(), 0);
    }
}
