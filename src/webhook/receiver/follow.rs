//! Confirms events by polling their tasks, and passes finished tasks to the handler. Remembers
//! which events and tasks have been handled or are in progress, so that each is handled once.

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
    sync::Arc,
};

use tokio::{
    sync::OwnedSemaphorePermit,
    task::JoinSet,
    time::{self, Instant},
};

use super::Shared;
use crate::{
    Error, ErrorKind, Region, Task, TaskRef, TaskStatus, Update, WaitOptions, retry::Backoff,
    task::Recent, values::Mutex, webhook::scheme::Fingerprint,
};

/// The maximum number of polls of a task that the service reports as unknown although it has sent
/// an event about the task.
const MAX_POLLS: u32 = 6;

/// Handles the events about a task until no more have arrived.
pub(super) async fn follow(shared: Arc<Shared>, task_id: String) {
    while let Some(events) = shared.followers.take(&task_id) {
        let claims = events.iter().map(|event| event.claimed_status.as_ref());
        // Confirm only the claim that takes the longest to confirm. This also confirms the other
        // ones.
        let claimed = claims.max_by_key(|claim| match claim {
            Some(TaskStatus::TaskNotFound) => 1,
            Some(status) if !status.is_final() => 0,
            _ => 2,
        });
        if follow_all(&shared, &task_id, claimed.flatten()).await {
            events.into_iter().for_each(|event| event.in_progress.done());
        }
    }
}

/// Confirms an event and passes a finished task to the handler. Returns whether the event was
/// handled.
///
/// Several tasks may have the id in the event, for example one in each region. The event does not
/// say which of them it is about, so this polls all of them.
async fn follow_all(shared: &Arc<Shared>, task_id: &str, claimed: Option<&TaskStatus>) -> bool {
    let mut tasks = shared.client.shared.submissions.find(task_id).await;
    if tasks.len() < 2 {
        return follow_one(shared, task_id, tasks.pop(), claimed).await;
    }
    let mut following = JoinSet::new();
    for task in tasks {
        let (shared, task_id, claimed) = (Arc::clone(shared), task_id.to_owned(), claimed.cloned());
        following.spawn(async move {
            follow_one(&shared, &task_id, Some(task), claimed.as_ref()).await
        });
    }
    following.join_all().await.into_iter().all(|handled| handled)
}

/// Confirms an event with one task, and passes the task to the handler if it has finished. `task`
/// is the task that the event may be about, if this client has submitted it. Returns whether the
/// event was handled.
async fn follow_one(
    shared: &Shared,
    task_id: &str,
    task: Option<TaskRef>,
    claimed: Option<&TaskStatus>,
) -> bool {
    let confirmed = confirm(shared, task_id, task, claimed).await;
    let polled = confirmed.as_ref().ok().map(|(task, update)| (task, update));
    shared.client.shared.waits.wake(task_id, polled);
    let (task, update) = match confirmed {
        Ok(confirmed) => confirmed,
        Err(error) => {
            tracing::warn!(task_id, kind = ?error.kind(), %error, "could not confirm a webhook");
            return false;
        }
    };
    let status = update.status();
    tracing::debug!(task_id, %status, "webhook confirmed");
    if !status.is_final() {
        return true;
    }
    let key = (task.region(), task_id.to_owned());
    let Some(in_progress) = shared.tasks.begin(key) else { return true };
    match tokio::spawn((shared.handler)(update.into_picture(&task))).await {
        Ok(()) => in_progress.done(),
        Err(error) => {
            tracing::error!(task_id, %error, "the webhook handler panicked");
            return false;
        }
    }
    true
}

/// Polls the task until the event is confirmed or the deadline passes. This also retries after
/// errors that would end a normal wait, because the receiver has already acknowledged the delivery,
/// so the service will not repeat it. This accepts `Task not found` only after several attempts,
/// because polls may lag behind the event.
async fn confirm(
    shared: &Shared,
    task_id: &str,
    mut task: Option<TaskRef>,
    claimed: Option<&TaskStatus>,
) -> Result<(TaskRef, Update), Error> {
    let started = Instant::now();
    let left = || shared.wait_options.deadline.saturating_sub(started.elapsed());
    let (mut attempt, mut backoff) = (1, Backoff::of_retries());
    loop {
        let mut options = shared.wait_options.deadline(left());
        (options.is_urgent, options.believes) = (true, true);
        let confirmed = match &task {
            Some(task) => poll(shared.client.task(task.clone()), claimed, options).await,
            None => confirm_id(shared, task_id, claimed, options).await,
        };
        let may_lag = !claimed.is_some_and(is_not_found) && attempt < MAX_POLLS;
        let is_settled = match confirmed.as_ref().map_err(Error::kind) {
            Ok((_, update)) => !(may_lag && is_not_found(update.status())),
            Err(ErrorKind::TaskNotFound) => !may_lag,
            Err(kind) => kind == ErrorKind::KeyWithheld,
        };
        let pause = shared.client.shared.service.random.spread(backoff.pause());
        if is_settled || pause >= left() {
            return confirmed;
        }
        time::sleep(pause).await;
        attempt += 1;
        if task.is_none() {
            // The response to the submission of the task may have arrived in the meantime.
            task = shared.client.shared.submissions.find(task_id).await.pop();
        }
    }
}

async fn confirm_id(
    shared: &Shared,
    task_id: &str,
    claimed: Option<&TaskStatus>,
    options: WaitOptions,
) -> Result<(TaskRef, Update), Error> {
    // Another process has submitted the task, so its region is unknown. Try both regions.
    for region in [Region::Global, Region::Regional] {
        let Ok(task) = shared.client.task_in(region, task_id) else { continue };
        let (task, update) = poll(task, claimed, options).await?;
        if !is_not_found(update.status()) {
            return Ok((task, update));
        }
    }
    Err(Error::new(ErrorKind::TaskNotFound, "the service does not know the task in the webhook"))
}

fn is_not_found(status: &TaskStatus) -> bool {
    *status == TaskStatus::TaskNotFound
}

/// Polls until an update confirms the event, and returns the task and this update. If the event
/// claims a final status or no status, only a final status confirms the event, because polls may
/// lag behind the event. Otherwise, any status does.
async fn poll(
    task: Task,
    claimed: Option<&TaskStatus>,
    options: WaitOptions,
) -> Result<(TaskRef, Update), Error> {
    let claims_final = claimed.is_none_or(TaskStatus::is_final);
    task.wait_until(options, |_| !claims_final, |update, task| Ok((task.clone(), update))).await
}

/// An event that waits for confirmation, without its body.
pub(super) struct PendingEvent {
    pub(super) claimed_status: Option<TaskStatus>,
    pub(super) in_progress: InProgress<Fingerprint>,
    pub(super) _permit: OwnedSemaphorePermit,
}

/// The events that wait for the follower of their task, by task id. Each task has only one
/// follower, so many events about one task do not cause as many polls.
#[derive(Default)]
pub(super) struct Followers(Mutex<HashMap<String, Vec<PendingEvent>>>);

impl Followers {
    /// Adds an event. Returns `true` if the task has no follower yet. The caller must then start
    /// one.
    pub(super) fn add(&self, task_id: &str, event: PendingEvent) -> bool {
        let mut followers = self.0.lock();
        let is_first = !followers.contains_key(task_id);
        followers.entry(task_id.to_owned()).or_default().push(event);
        is_first
    }

    /// Returns the events that have arrived since the last call. Returns `None` if there are none,
    /// and the follower must then end.
    pub(super) fn take(&self, task_id: &str) -> Option<Vec<PendingEvent>> {
        let mut followers = self.0.lock();
        let events = std::mem::take(followers.get_mut(task_id)?);
        if events.is_empty() {
            followers.remove(task_id);
            return None;
        }
        Some(events)
    }
}

/// Allows only one execution for each key, and remembers the keys of past executions.
pub(super) struct Handled<K>(Mutex<Keys<K>>);

struct Keys<K> {
    in_progress: HashSet<K>,
    done: Recent<K, ()>,
}

impl<K: Hash + Eq + Clone> Handled<K> {
    pub(super) fn new() -> Arc<Self> {
        let keys = Keys { in_progress: HashSet::new(), done: Recent::default() };
        Arc::new(Self(Mutex::new(keys)))
    }

    /// Begins the execution for `key`. Returns `None` if it is already done or in progress.
    pub(super) fn begin(self: &Arc<Self>, key: K) -> Option<InProgress<K>> {
        let mut state = self.0.lock();
        if state.done.get(&key).is_some() || !state.in_progress.insert(key.clone()) {
            return None;
        }
        drop(state);
        Some(InProgress { once: Arc::clone(self), key })
    }
}

/// An execution in progress. If this value is dropped before `done` is called, another execution
/// for the key may begin.
pub(super) struct InProgress<K: Hash + Eq + Clone> {
    once: Arc<Handled<K>>,
    key: K,
}

impl<K: Hash + Eq + Clone> InProgress<K> {
    pub(super) fn done(self) {
        self.once.0.lock().done.get_or_add(self.key.clone());
    }
}

impl<K: Hash + Eq + Clone> Drop for InProgress<K> {
    fn drop(&mut self) {
        self.once.0.lock().in_progress.remove(&self.key);
    }
}
