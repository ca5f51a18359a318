//! The active waits of a client, which webhook events can wake.

use std::{
    borrow::Borrow,
    collections::HashMap,
    hash::{Hash, Hasher},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::sync::Notify;

use crate::TaskRef;

/// The tasks with an active wait, one for each wait. Those with the same id are woken together: an
/// event contains only the id, but tasks in both regions may have it. There can be thousands of
/// waits, so each id is stored once.
#[derive(Default)]
pub(crate) struct Waits(Mutex<HashMap<ById, Vec<Arc<TaskRef>>>>);

/// What the waits for tasks with the same id share.
struct Waited {
    /// One of the tasks.
    task: Arc<TaskRef>,
    /// The number of events so far.
    events: AtomicU64,
    another: Notify,
}

impl Waited {
    fn new(task: &Arc<TaskRef>) -> Self {
        Self { task: Arc::clone(task), events: AtomicU64::new(0), another: Notify::new() }
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
    /// Makes every wait for a task with this id poll immediately.
    #[cfg(feature = "webhook")]
    pub(crate) fn wake(&self, task_id: &str) {
        if let Some((ById(waited), _)) = self.lock().get_key_value(task_id) {
            waited.events.fetch_add(1, Ordering::Release);
            waited.another.notify_waiters();
        }
    }

    /// Whether there is an active wait for this task.
    pub(super) fn has(&self, task: &TaskRef) -> bool {
        let waits = self.lock();
        let same_id = waits.get(task.id()).into_iter().flatten();
        same_id.into_iter().any(|waited| waited.identity() == task.identity())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ById, Vec<Arc<TaskRef>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Registers a wait until it is dropped.
pub(super) struct WaitGuard {
    waits: Arc<Waits>,
    task: Arc<TaskRef>,
    waited: Arc<Waited>,
    /// The number of events that have ended a pause, or came before this wait.
    seen: u64,
}

impl WaitGuard {
    pub(super) fn new(waits: &Arc<Waits>, task: &Arc<TaskRef>) -> Self {
        let mut active = waits.lock();
        let waited = active.get_key_value(task.id()).map(|(ById(waited), _)| Arc::clone(waited));
        let waited = waited.unwrap_or_else(|| Arc::new(Waited::new(task)));
        active.entry(ById(Arc::clone(&waited))).or_default().push(Arc::clone(task));
        drop(active);
        let seen = waited.events.load(Ordering::Acquire);
        Self { waits: Arc::clone(waits), task: Arc::clone(task), waited, seen }
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

impl Drop for WaitGuard {
    fn drop(&mut self) {
        let mut waits = self.waits.lock();
        let Some(same_id) = waits.get_mut(self.task.id()) else { return };
        if let Some(index) = same_id.iter().position(|task| Arc::ptr_eq(task, &self.task)) {
            same_id.swap_remove(index);
        }
        if same_id.is_empty() {
            waits.remove(self.task.id());
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
        let mut waits = regions.clone().map(|task| WaitGuard::new(&all, &Arc::new(task)));
        all.wake("t1");
        assert!(waits.iter_mut().all(|wait| wait.woken().now_or_never().is_some()));

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
        let mut waits = [waiting(&all, "t1"), waiting(&all, "t1")];
        all.wake("t1");
        all.wake("t2");
        let mut late = waiting(&all, "t1");
        assert_eq!(late.woken().now_or_never(), None);
        for wait in &mut waits {
            assert_eq!(wait.woken().now_or_never(), Some(()));
            assert_eq!(wait.woken().now_or_never(), None);
        }
        let [first, _] = &mut waits;
        let mut pause = Box::pin(first.woken());
        assert_eq!(pause.as_mut().now_or_never(), None);
        all.wake("t1");
        assert_eq!(pause.now_or_never(), Some(()));
        assert_eq!(first.woken().now_or_never(), None);
    }
}
