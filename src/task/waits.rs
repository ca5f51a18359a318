//! The waits of a client that are in progress. Webhook events and unexpected durations wake them.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use tokio::sync::Notify;

use super::{Task, Update, schedules::Schedules};
use crate::TaskRef;

/// The active waits of a client, which webhook events can wake, by the hash of the id of their
/// task. There can be thousands, so the ids are not stored again.
#[derive(Default)]
pub(crate) struct Waits {
    hasher: RandomState,
    active: Mutex<HashMap<u64, Vec<Arc<Wait>>>>,
    /// Whether the last event came before a poll found its task ready.
    events_work: AtomicBool,
    pub(crate) schedules: Schedules,
}

/// More waits for tasks with the same work are not counted.
const MANY: usize = 64;

struct Wait {
    task: Arc<TaskRef>,
    work: Option<Arc<str>>,
    /// Keeps a call that arrives while a poll is in flight.
    woken: Notify,
    /// Whether an event about the task has arrived.
    has_event: AtomicBool,
    /// The poll that has confirmed the event.
    update: Mutex<Option<Box<Update>>>,
}

impl Wait {
    fn is_like(&self, task: &Task) -> bool {
        self.work == task.work && self.task.operation() == task.reference.operation()
    }
}

impl Waits {
    pub(super) fn new(schedules: Schedules) -> Self {
        Self { schedules, ..Self::default() }
    }

    /// Ends the pauses of every wait for a task with this id. If `confirmed` is a poll of the same
    /// task, the wait takes its update, and otherwise it polls. Tasks in both regions may have the
    /// id, and an event contains only the id.
    #[cfg(feature = "webhook")]
    pub(crate) fn wake(&self, task_id: &str, confirmed: Option<(&TaskRef, &Update)>) {
        let active = self.lock();
        let same_hash = active.get(&self.hasher.hash_one(task_id)).into_iter().flatten();
        for wait in same_hash.filter(|wait| wait.task.id() == task_id) {
            // Some services may announce only what happens before the final status.
            if confirmed.is_some_and(|(_, update)| update.status().is_final()) {
                self.events_work.store(true, Relaxed);
            }
            wait.has_event.store(true, Relaxed);
            if let Some((task, update)) = confirmed
                && wait.task.identity() == task.identity()
            {
                *wait.update.lock().unwrap_or_else(PoisonError::into_inner) =
                    Some(Box::new(update.clone()));
            }
            wait.woken.notify_one();
        }
    }

    /// Whether there is an active wait for this task.
    pub(super) fn has(&self, task: &TaskRef) -> bool {
        let active = self.lock();
        let mut same_hash = active.get(&self.hasher.hash_one(task.id())).into_iter().flatten();
        same_hash.any(|wait| wait.task.identity() == task.identity())
    }

    /// Returns the number of waits for tasks with the same work as this one.
    pub(super) fn count(&self, task: &Task) -> usize {
        let active = self.lock();
        active.values().flatten().filter(|wait| wait.is_like(task)).take(MANY).count()
    }

    /// Whether webhook events arrive.
    pub(super) fn events_work(&self) -> bool {
        self.events_work.load(Relaxed)
    }

    /// Expects no webhook events until one arrives. Returns whether they were expected.
    pub(super) fn expect_no_events(&self) -> bool {
        self.events_work.swap(false, Relaxed)
    }

    /// Makes every wait for a task with the same work decide again when it polls.
    pub(super) fn replan(&self, task: &Task) {
        let active = self.lock();
        let same = active.values().flatten().filter(|wait| wait.is_like(task));
        same.for_each(|wait| wait.woken.notify_one());
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
    pub(super) fn new(waits: &Arc<Waits>, task: &Arc<TaskRef>, work: Option<&Arc<str>>) -> Self {
        let wait = Arc::new(Wait {
            task: Arc::clone(task),
            work: work.cloned(),
            woken: Notify::new(),
            has_event: AtomicBool::new(false),
            update: Mutex::default(),
        });
        let hash = waits.hasher.hash_one(wait.task.id());
        waits.lock().entry(hash).or_default().push(Arc::clone(&wait));
        Self { waits: Arc::clone(waits), wait }
    }

    /// Returns when an event has arrived since the previous call returned, or when the next poll
    /// should be planned again. Returns whether it was an event.
    pub(super) async fn woken(&self) -> bool {
        self.wait.woken.notified().await;
        self.wait.has_event.swap(false, Relaxed)
    }

    /// Returns the poll that has confirmed an event.
    pub(super) fn confirmed(&self) -> Option<Update> {
        self.wait.update.lock().unwrap_or_else(PoisonError::into_inner).take().map(|update| *update)
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
        WaitGuard::new(waits, &Arc::new(task(id)), None)
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
        let waits = regions.clone().map(|task| WaitGuard::new(&all, &Arc::new(task), None));
        all.wake("t1", None);
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
        all.wake("t1", None);
        all.wake("t2", None);
        let late = waiting(&all, "t1");
        assert_eq!(late.woken().now_or_never(), None);
        for wait in &waits {
            assert_eq!(wait.woken().now_or_never(), Some(true));
            assert_eq!(wait.woken().now_or_never(), None);
        }
        let [first, _] = &waits;
        let mut pause = Box::pin(first.woken());
        assert_eq!(pause.as_mut().now_or_never(), None);
        all.wake("t1", None);
        assert_eq!(pause.now_or_never(), Some(true));
        assert_eq!(first.woken().now_or_never(), None);
    }
}
