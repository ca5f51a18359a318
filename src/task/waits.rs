//! The waits of a client that are in progress, and how long its last tasks took.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::Notify;

use crate::TaskRef;

/// The active waits of a client, which webhook events can wake, by the hash of the id of their
/// task. There can be thousands, so the ids are not stored again.
#[derive(Default)]
pub(crate) struct Waits {
    hasher: RandomState,
    active: Mutex<HashMap<u64, Vec<Arc<Wait>>>>,
    /// How long the last task of each model was in progress, as far as its wait saw it.
    durations: Mutex<HashMap<String, Duration>>,
}

/// More models are not remembered.
const MAX_MODELS: usize = 100;

struct Wait {
    task: Arc<TaskRef>,
    /// Keeps an event that arrives while a poll is in flight.
    event: Notify,
}

impl Waits {
    /// Makes every wait for a task with this id poll immediately. Tasks in both regions may have
    /// it, and an event contains only the id.
    #[cfg(feature = "webhook")]
    pub(crate) fn wake(&self, task_id: &str) {
        let active = self.lock();
        let same_hash = active.get(&self.hasher.hash_one(task_id)).into_iter().flatten();
        for wait in same_hash.filter(|wait| wait.task.id() == task_id) {
            wait.event.notify_one();
        }
    }

    /// Whether there is an active wait for this task.
    pub(super) fn has(&self, task: &TaskRef) -> bool {
        let active = self.lock();
        let mut same_hash = active.get(&self.hasher.hash_one(task.id())).into_iter().flatten();
        same_hash.any(|wait| wait.task.identity() == task.identity())
    }

    /// Remembers how long a task was in progress.
    pub(super) fn learn(&self, task: &TaskRef, duration: Duration) {
        let Some(model) = task.operation() else { return };
        let mut durations = self.durations.lock().unwrap_or_else(PoisonError::into_inner);
        if durations.len() < MAX_MODELS || durations.contains_key(model) {
            durations.insert(model.to_owned(), duration);
        }
    }

    /// How long a task is probably in progress.
    pub(super) fn expected(&self, task: &TaskRef) -> Option<Duration> {
        let durations = self.durations.lock().unwrap_or_else(PoisonError::into_inner);
        durations.get(task.operation()?).copied()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Vec<Arc<Wait>>>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Registers a wait until it is dropped.
pub(super) struct WaitGuard {
    waits: Arc<Waits>,
    wait: Arc<Wait>,
}

impl WaitGuard {
    pub(super) fn new(waits: &Arc<Waits>, task: &Arc<TaskRef>) -> Self {
        let wait = Arc::new(Wait { task: Arc::clone(task), event: Notify::new() });
        let hash = waits.hasher.hash_one(task.id());
        waits.lock().entry(hash).or_default().push(Arc::clone(&wait));
        Self { waits: Arc::clone(waits), wait }
    }

    /// Returns when an event has arrived since the previous call returned.
    pub(super) async fn woken(&self) {
        self.wait.event.notified().await;
    }
}

impl Drop for WaitGuard {
    fn drop(&mut self) {
        let hash = self.waits.hasher.hash_one(self.wait.task.id());
        let mut active = self.waits.lock();
        let Some(same_hash) = active.get_mut(&hash) else { return };
        same_hash.retain(|wait| !Arc::ptr_eq(wait, &self.wait));
        if same_hash.is_empty() {
            active.remove(&hash);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::Region;

    fn task(id: &str) -> TaskRef {
        TaskRef::new(id, "http://127.0.0.1:9/poll", None)
    }

    fn waiting(waits: &Arc<Waits>, id: &str) -> WaitGuard {
        WaitGuard::new(waits, &Arc::new(task(id)))
    }

    #[test]
    fn a_task_is_removed_when_its_last_wait_ends() {
        let all = Arc::<Waits>::default();
        let (first, second) = (waiting(&all, "t1"), waiting(&all, "t1"));
        let other = waiting(&all, "t2");
        drop(first);
        assert!(all.has(&task("t1")));
        drop(second);
        assert!(!all.has(&task("t1")));
        assert!(all.has(&task("t2")));
        drop(other);
        assert!(all.lock().is_empty());
    }

    /// An event does not contain the region.
    #[test]
    fn an_event_wakes_the_waits_of_all_regions() {
        let all = Arc::<Waits>::default();
        let regions = [Region::Global, Region::Regional].map(|region| task("t1").in_region(region));
        let waits = regions.clone().map(|task| WaitGuard::new(&all, &Arc::new(task)));
        all.wake("t1");
        assert!(waits.iter().all(|wait| wait.woken().now_or_never().is_some()));

        let [global, regional] = waits;
        drop(global);
        assert_eq!(regions.each_ref().map(|task| all.has(task)), [false, true]);
        drop(regional);
        assert!(all.lock().is_empty());
    }

    /// An event may arrive while a poll is in flight, when nothing waits for it.
    #[test]
    fn an_event_ends_one_pause_of_each_wait() {
        let all = Arc::<Waits>::default();
        let waits = [waiting(&all, "t1"), waiting(&all, "t1")];
        all.wake("t1");
        all.wake("t2");
        let late = waiting(&all, "t1");
        assert_eq!(late.woken().now_or_never(), None);
        for wait in &waits {
            assert_eq!(wait.woken().now_or_never(), Some(()));
            assert_eq!(wait.woken().now_or_never(), None);
        }
        let [first, _] = &waits;
        let mut pause = Box::pin(first.woken());
        assert_eq!(pause.as_mut().now_or_never(), None);
        all.wake("t1");
        assert_eq!(pause.now_or_never(), Some(()));
        assert_eq!(first.woken().now_or_never(), None);
    }
}
