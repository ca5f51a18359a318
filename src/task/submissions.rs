//! Tracks the submissions in flight, and the tasks that were accepted after their callers were
//! dropped.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    hash::Hash,
    sync::Arc,
    time::Duration,
};

use tokio::{
    sync::{oneshot, watch},
    time,
};

use super::Task;
use crate::{Billing, Error, ErrorKind, Request, TaskRef, journal::Intent, values::Mutex};

/// The maximum number of remembered tasks and events of each kind; the oldest are dropped first.
const REMEMBERED: usize = 10_000;

/// The maximum number of remembered tasks with the same id, which only a faulty service returns in
/// one region.
const SAME_ID: usize = 8;

/// How long an event waits for submissions in flight.
const HOLD: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(crate) struct Submissions {
    state: Mutex<Tracked>,
    /// Notified whenever a submission ends.
    ended: watch::Sender<()>,
    /// Whether submissions fail instead of being retried.
    retries_stopped: watch::Sender<bool>,
}

#[derive(Default)]
struct Tracked {
    next: u64,
    in_flight: BTreeMap<u64, SubmissionInfo>,
    /// Tasks that were accepted after their callers were gone.
    orphans: VecDeque<TaskRef>,
    /// Tasks that were submitted with a webhook, by id.
    tasks: Recent<String, Vec<TaskRef>>,
}

/// What is known about a submission in flight.
struct SubmissionInfo {
    /// Whether the program may receive an event about its task.
    expects_event: bool,
    /// The id of its journal intent, if there is a journal.
    intent: Option<String>,
}

impl Submissions {
    /// Returns the tasks with this id that were submitted with a webhook, the last one first. The
    /// event may arrive before the response with the task id, so this waits for the submissions
    /// that started before this call.
    pub(crate) async fn find(&self, task_id: &str) -> Vec<TaskRef> {
        let id = task_id.to_owned();
        let mut ended = self.ended.subscribe();
        let now = self.state.lock().next;
        let known_or_ended = ended.wait_for(|()| {
            let state = self.state.lock();
            let mut before = state.in_flight.range(..now);
            state.tasks.get(&id).is_some() || !before.any(|(_, info)| info.expects_event)
        });
        let _ = time::timeout(HOLD, known_or_ended).await;
        self.state.lock().tasks.get(&id).cloned().unwrap_or_default()
    }

    /// Returns the ids of the journal intents of the submissions in flight.
    pub(crate) fn intents(&self) -> HashSet<String> {
        self.state.lock().in_flight.values().filter_map(|info| info.intent.clone()).collect()
    }

    /// Completes when submissions should no longer be retried.
    pub(super) async fn retries_stopped(&self) {
        let mut stopped = self.retries_stopped.subscribe();
        // Cannot fail: `self` holds the sender.
        let _ = stopped.wait_for(|stopped| *stopped).await;
    }

    /// Makes submissions fail instead of being retried.
    pub(crate) fn stop_retries(&self) {
        self.retries_stopped.send_replace(true);
    }

    /// Waits until no submission is in flight, and returns the tasks whose callers are gone.
    pub(crate) async fn drain(&self, deadline: Duration) -> Result<Vec<TaskRef>, Error> {
        if time::timeout(deadline, self.all_ended()).await.is_err() {
            let left = self.state.lock().in_flight.len();
            let message =
                format!("submissions still in flight after {} s: {left}", deadline.as_secs_f32());
            return Err(Error::new(ErrorKind::Deadline, message)
                .with_billing_unknown()
                .with_advice("drain again; ending the program now may lose billed tasks")
                .with_function("Client::drain"));
        }
        Ok(self.state.lock().orphans.drain(..).collect())
    }

    /// Completes when no submission is in flight.
    pub(crate) async fn all_ended(&self) {
        let mut ended = self.ended.subscribe();
        // Cannot fail: `self` holds the sender.
        let _ = ended.wait_for(|()| self.state.lock().in_flight.is_empty()).await;
    }

    /// Keeps the task of an outcome that nobody receives, because the task is billed.
    pub(super) fn keep(&self, outcome: &Outcome) {
        if let Some(task) = accepted_task(outcome) {
            tracing::warn!(task_id = task.id(), "submission accepted after `submit` was dropped");
            let mut state = self.state.lock();
            if state.orphans.len() == REMEMBERED {
                state.orphans.pop_front();
            }
            state.orphans.push_back(task.clone());
        } else if let Err(error) = outcome {
            let billing_unknown = error.billing() == Billing::Unknown;
            tracing::warn!(
                kind = ?error.kind(),
                billing_unknown,
                "submission failed after `submit` was dropped"
            );
        }
    }
}

/// Marks a submission as in flight until this value is dropped.
///
/// It does not hold the state of the client, because that would keep the journal open.
pub(super) struct InFlight {
    pub(super) submissions: Arc<Submissions>,
    number: u64,
    /// Whether the program may receive an event about the task.
    pub(super) expects_event: bool,
}

impl InFlight {
    pub(super) fn new(
        submissions: &Arc<Submissions>,
        request: &Request,
        intent: Option<&Intent>,
    ) -> Self {
        let submissions = Arc::clone(submissions);
        let mut state = submissions.state.lock();
        let number = state.next;
        state.next += 1;
        let expects_event = cfg!(feature = "webhook") && request.asks_for_webhook();
        let intent = intent.map(|intent| intent.id().to_owned());
        state.in_flight.insert(number, SubmissionInfo { expects_event, intent });
        drop(state);
        Self { submissions, number, expects_event }
    }

    pub(super) fn accepted(&self, task: &TaskRef) {
        if self.expects_event {
            let mut state = self.submissions.state.lock();
            let tasks = state.tasks.get_or_add(task.id().to_owned());
            tasks.retain(|other| other.identity() != task.identity());
            tasks.truncate(SAME_ID - 1);
            tasks.insert(0, task.clone());
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.submissions.state.lock().in_flight.remove(&self.number);
        self.submissions.ended.send_replace(());
    }
}

/// The outcome of a submission.
pub(super) type Outcome = Result<Task, Error>;

/// Returns the accepted task of an outcome, even if the journal could not record it.
pub(super) fn accepted_task(outcome: &Outcome) -> Option<&TaskRef> {
    match outcome.as_ref().map_err(Error::billing) {
        Ok(task) => Some(task.reference()),
        Err(Billing::Accepted(task)) => Some(task),
        Err(_) => None,
    }
}

/// The receiver on which a caller of `submit` waits for the outcome.
///
/// Dropping it keeps the accepted task for [`Client::drain`](crate::Client::drain), even if the
/// outcome was sent but not received yet.
pub(super) struct OutcomeReceiver {
    pub(super) receiver: oneshot::Receiver<Outcome>,
    submissions: Arc<Submissions>,
}

impl OutcomeReceiver {
    pub(super) fn new(submissions: &Arc<Submissions>) -> (oneshot::Sender<Outcome>, Self) {
        let (sender, receiver) = oneshot::channel();
        (sender, Self { receiver, submissions: Arc::clone(submissions) })
    }
}

impl Drop for OutcomeReceiver {
    fn drop(&mut self) {
        // The receiver is closed first. After that, an outcome has either been sent, and is kept
        // here, or it can never be sent.
        self.receiver.close();
        if let Ok(outcome) = self.receiver.try_recv() {
            self.submissions.keep(&outcome);
        }
    }
}

/// A map of bounded size that evicts the oldest entries.
pub(crate) struct Recent<K, V> {
    values: HashMap<K, V>,
    /// The keys in insertion order.
    order: VecDeque<K>,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self { values: HashMap::new(), order: VecDeque::new() }
    }
}

impl<K: Hash + Eq + Clone, V: Default> Recent<K, V> {
    /// Returns the value of a key, which is added if it is missing.
    pub(crate) fn get_or_add(&mut self, key: K) -> &mut V {
        if !self.values.contains_key(&key) {
            if self.order.len() >= REMEMBERED
                && let Some(first) = self.order.pop_front()
            {
                self.values.remove(&first);
            }
            self.order.push_back(key.clone());
        }
        self.values.entry(key).or_default()
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.values.get(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_entry_is_evicted_first() {
        let mut recent = Recent::default();
        for key in (0..=REMEMBERED).chain([1]) {
            *recent.get_or_add(key) += 1;
        }
        assert_eq!([0, 1, REMEMBERED].map(|key| recent.get(&key)), [None, Some(&2), Some(&1)]);
        assert_eq!((recent.values.len(), recent.order.len()), (REMEMBERED, REMEMBERED));
    }
}
