//! The active waits of a client, which webhook events can wake.

use std::{
    borrow::Borrow,
    collections::HashSet,
    hash::{Hash, Hasher},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use tokio::sync::Notify;

use crate::{Client, TaskRef};

/// The tasks with an active wait. There can be thousands, so each one is stored once, and all waits
/// for it share it.
#[derive(Default)]
pub(crate) struct Waits(Mutex<HashSet<ById>>);

/// A task with an active wait.
struct Waited {
    task: Arc<TaskRef>,
    /// The number of waits. Changes only while the set is locked, so that a task is removed once.
    waits: AtomicUsize,
    /// The number of events so far.
    events: AtomicU64,
    another: Notify,
}

impl Waited {
    fn new(task: &Arc<TaskRef>) -> Self {
        let task = Arc::clone(task);
        Self { task, waits: AtomicUsize::new(0), events: AtomicU64::new(0), another: Notify::new() }
    }
}

/// Compared by the id of the task.
struct ById(Arc<Waited>);

impl Borrow<str> for ById {
    fn borrow(&self) -> &str {
        self.0.task.id()
    }
}

impl Hash for ById {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.task.id().hash(state);
    }
}

impl PartialEq for ById {
    fn eq(&self, other: &Self) -> bool {
        self.0.task.id() == other.0.task.id()
    }
}

impl Eq for ById {}

impl Waits {
    /// Makes every wait for this task poll immediately.
    #[cfg(feature = "webhook")]
    pub(crate) fn wake(&self, task_id: &str) {
        if let Some(ById(waited)) = self.lock().get(task_id) {
            waited.events.fetch_add(1, Ordering::Release);
            waited.another.notify_waiters();
        }
    }

    /// Whether there is an active wait for this task.
    pub(super) fn has(&self, task_id: &str) -> bool {
        self.lock().contains(task_id)
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<ById>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Registers a wait until it is dropped.
pub(super) struct Waiting {
    pub(super) client: Client,
    pub(super) task: Arc<TaskRef>,
    waited: Arc<Waited>,
    /// The number of events that have ended a pause, or came before this wait.
    seen: u64,
}

impl Waiting {
    pub(super) fn new(client: &Client, task: &Arc<TaskRef>) -> Self {
        let mut waits = client.tasks().waits.lock();
        let waited = waits.get(task.id()).map(|ById(waited)| Arc::clone(waited));
        let waited = waited.unwrap_or_else(|| {
            let waited = Arc::new(Waited::new(task));
            waits.insert(ById(Arc::clone(&waited)));
            waited
        });
        waited.waits.fetch_add(1, Ordering::Relaxed);
        drop(waits);
        let seen = waited.events.load(Ordering::Acquire);
        Self { client: client.clone(), task: Arc::clone(task), waited, seen }
    }

    /// Returns when an event has arrived since the previous call returned.
    pub(super) async fn woken(&mut self) {
        // Created before the count is read, so that no event falls between the two.
        let another = self.waited.another.notified();
        if self.waited.events.load(Ordering::Acquire) == self.seen {
            another.await;
        }
        self.seen = self.waited.events.load(Ordering::Acquire);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut waits = self.client.tasks().waits.lock();
        if self.waited.waits.fetch_sub(1, Ordering::Relaxed) == 1 {
            waits.remove(self.task.id());
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn client() -> Client {
        Client::builder().api_key("key").base_url("http://127.0.0.1:9").build().unwrap()
    }

    fn waiting(client: &Client, id: &str) -> Waiting {
        Waiting::new(client, &Arc::new(TaskRef::new(id, "http://127.0.0.1:9/poll", None)))
    }

    #[test]
    fn a_task_is_removed_when_its_last_wait_ends() {
        let client = client();
        let (first, second) = (waiting(&client, "t1"), waiting(&client, "t1"));
        let other = waiting(&client, "t2");
        drop(first);
        assert!(client.tasks().waits.has("t1"));
        drop(second);
        assert!(!client.tasks().waits.has("t1"));
        assert!(client.tasks().waits.has("t2"));
        drop(other);
        assert!(client.tasks().waits.lock().is_empty());
    }

    /// An event may arrive while a poll is in flight, when nothing waits for it.
    #[test]
    fn an_event_ends_one_pause_of_each_wait() {
        let client = client();
        let mut waits = [waiting(&client, "t1"), waiting(&client, "t1")];
        client.tasks().waits.wake("t1");
        client.tasks().waits.wake("t2");
        let mut late = waiting(&client, "t1");
        assert_eq!(late.woken().now_or_never(), None);
        for wait in &mut waits {
            assert_eq!(wait.woken().now_or_never(), Some(()));
            assert_eq!(wait.woken().now_or_never(), None);
        }
        let [first, _] = &mut waits;
        let mut pause = Box::pin(first.woken());
        assert_eq!(pause.as_mut().now_or_never(), None);
        client.tasks().waits.wake("t1");
        assert_eq!(pause.now_or_never(), Some(()));
        assert_eq!(first.woken().now_or_never(), None);
    }
}
