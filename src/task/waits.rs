//! The waits of a client that are in progress. Webhook events and unexpected durations wake them.

use std::{
    collections::BTreeMap,
    hash::{BuildHasher, RandomState},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use tokio::sync::{Notify, futures::Notified};

use super::{Submitted, Task, Update, schedule::Events, schedules::Schedules};
use crate::{TaskRef, values::Mutex};

/// The active waits of a client, which webhook events can wake.
#[derive(Default)]
pub(crate) struct Waits {
    hasher: RandomState,
    active: Mutex<Active>,
    /// What is known about webhook events.
    pub(super) events: Mutex<Events>,
    pub(crate) schedules: Schedules,
}

/// The waits by the hash of the id of their task, and by their address in memory. There can be
/// thousands, so the ids are not stored again.
type Active = BTreeMap<(u64, usize), Arc<Wait>>;

/// The maximum number of waits for tasks with the same work that are counted.
const MANY: usize = 64;

struct Wait {
    task: Arc<TaskRef>,
    submitted: Option<Arc<Submitted>>,
    /// Stores a wake-up that arrives while a poll is in flight.
    woken: Notify,
    /// Whether an event about the task has arrived.
    has_event: AtomicBool,
    /// The poll that has confirmed the event.
    update: Mutex<Option<Box<Update>>>,
}

impl Wait {
    fn is_like(&self, task: &Task) -> bool {
        let work = self.submitted.as_ref().and_then(|submitted| submitted.work.as_deref());
        work == task.work() && self.task.operation() == task.reference.operation()
    }
}

impl Waits {
    pub(super) fn new(schedules: Schedules) -> Self {
        Self { schedules, ..Self::default() }
    }

    /// Ends the pauses of every wait for a task with this id. If `confirmed` is a poll of the same
    /// task, the wait uses the update of that poll. Otherwise it polls, because tasks in both
    /// regions may have this id, and an event contains only the id.
    #[cfg(feature = "webhook")]
    pub(crate) fn wake(&self, task_id: &str, confirmed: Option<(&TaskRef, &Update)>) {
        for wait in self.with_id(&self.active.lock(), task_id) {
            // An event before the final status does not prove that the final status is announced,
            // too.
            if confirmed.is_some_and(|(_, update)| update.status().is_final()) {
                *self.events.lock() = Events::Arriving;
            }
            wait.has_event.store(true, Relaxed);
            if let Some((task, update)) = confirmed
                && wait.task.identity() == task.identity()
            {
                *wait.update.lock() = Some(Box::new(update.clone()));
            }
            wait.woken.notify_one();
        }
    }

    /// Returns whether there is an active wait for this task.
    pub(super) fn has(&self, task: &TaskRef) -> bool {
        self.with_id(&self.active.lock(), task.id())
            .any(|wait| wait.task.identity() == task.identity())
    }

    /// Returns the number of waits for tasks with the same work as this one.
    pub(super) fn count(&self, task: &Task) -> usize {
        let active = self.active.lock();
        active.values().filter(|wait| wait.is_like(task)).take(MANY).count()
    }

    /// Expects webhook events until a task is ready without one.
    #[cfg(feature = "webhook")]
    pub(crate) fn expect_events(&self) {
        let mut events = self.events.lock();
        if *events == Events::Missing {
            *events = Events::Expected;
        }
    }

    /// Makes every wait for a task with the same work plan its next poll again.
    pub(super) fn replan(&self, task: &Task) {
        let active = self.active.lock();
        let same = active.values().filter(|wait| wait.is_like(task));
        same.for_each(|wait| wait.woken.notify_one());
    }

    fn with_id<'a>(&self, active: &'a Active, id: &'a str) -> impl Iterator<Item = &'a Arc<Wait>> {
        let hash = self.hasher.hash_one(id);
        let same_hash = active.range((hash, 0)..=(hash, usize::MAX)).map(|(_, wait)| wait);
        same_hash.filter(move |wait| wait.task.id() == id)
    }
}

/// A wait, which is active from the call of [`begin`](Self::begin) until this value is dropped.
pub(super) struct WaitGuard {
    waits: Arc<Waits>,
    wait: Arc<Wait>,
}

impl WaitGuard {
    pub(super) fn new(task: &Task) -> Self {
        let wait = Arc::new(Wait {
            task: Arc::clone(&task.reference),
            submitted: task.submitted.clone(),
            woken: Notify::new(),
            has_event: AtomicBool::new(false),
            update: Mutex::default(),
        });
        Self { waits: Arc::clone(&task.shared.waits), wait }
    }

    /// Makes the wait active. Call this when the future of the wait is first polled: before that,
    /// the wait does not poll the task, and other code must not rely on it.
    pub(super) fn begin(&self) {
        self.waits.active.lock().insert(self.key(), Arc::clone(&self.wait));
    }

    fn key(&self) -> (u64, usize) {
        (self.waits.hasher.hash_one(self.wait.task.id()), Arc::as_ptr(&self.wait).addr())
    }

    /// Completes when an event has arrived since the previous call completed, or when the next poll
    /// should be planned again.
    pub(super) fn woken(&self) -> Notified<'_> {
        self.wait.woken.notified()
    }

    /// Returns whether an event has arrived since the previous call.
    pub(super) fn has_event(&self) -> bool {
        self.wait.has_event.swap(false, Relaxed)
    }

    /// Returns the poll that has confirmed an event.
    pub(super) fn confirmed(&self) -> Option<Box<Update>> {
        self.wait.update.lock().take()
    }
}

impl Drop for WaitGuard {
    fn drop(&mut self) {
        self.waits.active.lock().remove(&self.key());
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

    fn waiting(waits: &Arc<Waits>, task: TaskRef) -> WaitGuard {
        let wait = Wait {
            task: Arc::new(task),
            submitted: None,
            woken: Notify::new(),
            has_event: AtomicBool::new(false),
            update: Mutex::default(),
        };
        let wait = WaitGuard { waits: Arc::clone(waits), wait: Arc::new(wait) };
        wait.begin();
        wait
    }

    fn is_woken(wait: &WaitGuard) -> bool {
        wait.woken().now_or_never().is_some()
    }

    #[test]
    fn a_task_is_removed_when_its_last_wait_ends() {
        let all = Arc::<Waits>::default();
        let [first, second, other] = ["t1", "t1", "t2"].map(|id| waiting(&all, task(id)));
        drop(first);
        assert!(all.has(&task("t1")));
        drop(second);
        assert!(!all.has(&task("t1")));
        assert!(all.has(&task("t2")));
        drop(other);
        assert!(all.active.lock().is_empty());
    }

    /// An event does not contain the region.
    #[test]
    fn an_event_wakes_the_waits_of_all_regions() {
        let all = Arc::<Waits>::default();
        let regions = [Region::Global, Region::Regional].map(|region| task("t1").in_region(region));
        let waits = regions.clone().map(|task| waiting(&all, task));
        all.wake("t1", None);
        assert!(waits.iter().all(is_woken));

        let [global, regional] = waits;
        drop(global);
        assert_eq!(regions.each_ref().map(|task| all.has(task)), [false, true]);
        drop(regional);
        assert!(all.active.lock().is_empty());
    }

    /// An event may arrive while a poll is in flight, when nothing waits for it.
    #[test]
    fn an_event_ends_one_pause_of_each_wait() {
        let all = Arc::<Waits>::default();
        let waits = ["t1", "t1"].map(|id| waiting(&all, task(id)));
        all.wake("t1", None);
        all.wake("t2", None);
        let late = waiting(&all, task("t1"));
        assert!(!is_woken(&late) && !late.has_event());
        for wait in &waits {
            assert!(is_woken(wait) && wait.has_event());
            assert!(!is_woken(wait) && !wait.has_event());
        }
        let [first, _] = &waits;
        let mut pause = Box::pin(first.woken());
        assert_eq!(pause.as_mut().now_or_never(), None);
        all.wake("t1", None);
        assert_eq!(pause.now_or_never(), Some(()));
        assert!(!is_woken(first));
    }
}
