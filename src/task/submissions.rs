//! The submissions of a client that are under way, and what became of those whose callers are gone.

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::watch, time};

use super::TaskRef;
#[cfg(feature = "webhook")]
use super::recent::Recent;
use crate::{Client, Error, ErrorKind};

/// How many tasks are remembered, of each kind; the oldest are forgotten first.
const REMEMBERED: usize = 10_000;

/// How long an event is held for submissions under way.
#[cfg(feature = "webhook")]
const HOLD: Duration = Duration::from_secs(60);

pub(crate) struct Submissions {
    state: Mutex<State>,
    /// Changes when a submission ends.
    ended: watch::Sender<()>,
}

struct State {
    next: u64,
    under_way: BTreeMap<u64, Traits>,
    /// The tasks that were accepted when their callers were gone.
    left_behind: VecDeque<TaskRef>,
    /// The tasks for which a webhook was asked.
    #[cfg(feature = "webhook")]
    tasks: Recent<String, TaskRef>,
}

/// What is known of a submission under way.
struct Traits {
    #[cfg_attr(not(feature = "webhook"), expect(dead_code, reason = "no event is waited for"))]
    asks_for_webhook: bool,
    /// The id of its intent, if there is a journal.
    intent: Option<String>,
}

impl Default for Submissions {
    fn default() -> Self {
        let state = State {
            next: 0,
            under_way: BTreeMap::new(),
            left_behind: VecDeque::new(),
            #[cfg(feature = "webhook")]
            tasks: Recent::new(REMEMBERED),
        };
        Self { state: Mutex::new(state), ended: watch::Sender::new(()) }
    }
}

impl Submissions {
    /// The task of this id, if a webhook was asked for. The event may arrive before the response
    /// that names the task, so this waits for the submissions that began before now.
    #[cfg(feature = "webhook")]
    pub(crate) async fn find(&self, task_id: &str) -> Option<TaskRef> {
        time::timeout(HOLD, self.known(task_id)).await.ok().flatten()
    }

    #[cfg(feature = "webhook")]
    async fn known(&self, task_id: &str) -> Option<TaskRef> {
        let mut ended = self.ended.subscribe();
        let now = self.lock().next;
        loop {
            {
                let state = self.lock();
                if let Some(task) = state.tasks.get(&task_id.to_owned()) {
                    return Some(task.clone());
                }
                state.under_way.range(..now).find(|(_, traits)| traits.asks_for_webhook)?;
            }
            ended.changed().await.ok()?;
        }
    }

    /// The intents of the submissions that are under way.
    pub(super) fn intents(&self) -> HashSet<String> {
        self.lock().under_way.values().filter_map(|traits| traits.intent.clone()).collect()
    }

    /// Returns when no submission is under way.
    async fn all_ended(&self) {
        let mut ended = self.ended.subscribe();
        while !self.lock().under_way.is_empty() {
            // The sender lives as long as this.
            let _ = ended.changed().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A submission that is under way until this is dropped.
///
/// It does not hold the client, whose journal stays open as long as the client lives.
pub(super) struct UnderWay {
    submissions: Arc<Submissions>,
    number: u64,
}

impl UnderWay {
    pub(super) fn new(client: &Client, asks_for_webhook: bool, intent: Option<String>) -> Self {
        let submissions = Arc::clone(&client.tasks().submissions);
        let mut state = submissions.lock();
        let number = state.next;
        state.next += 1;
        state.under_way.insert(number, Traits { asks_for_webhook, intent });
        drop(state);
        Self { submissions, number }
    }

    #[cfg(feature = "webhook")]
    pub(super) fn accepted(&self, task: &TaskRef) {
        let mut state = self.submissions.lock();
        if state.under_way.get(&self.number).is_some_and(|traits| traits.asks_for_webhook) {
            state.tasks.add(task.id().to_owned(), task.clone());
        }
    }

    #[cfg(not(feature = "webhook"))]
    pub(super) fn accepted(&self, _: &TaskRef) {}

    /// Keeps a task whose caller is gone.
    pub(super) fn left_behind(&self, task: TaskRef) {
        let mut state = self.submissions.lock();
        if state.left_behind.len() == REMEMBERED {
            state.left_behind.pop_front();
        }
        state.left_behind.push_back(task);
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.submissions.lock().under_way.remove(&self.number);
        self.submissions.ended.send_replace(());
    }
}

impl Client {
    /// Waits until no submission is under way, and returns the tasks that were accepted after their
    /// [`submit`](Self::submit) was dropped: by a time limit, by `select!`, or with the request of
    /// a browser that has left. They are paid. Call it before the runtime shuts down, which would
    /// cut the submissions.
    ///
    /// Each such task is returned once. The last 10,000 are kept.
    ///
    /// # Errors
    ///
    /// Kind [`Deadline`](ErrorKind::Deadline): submissions are still under way, so billing is
    /// unknown. The tasks are kept for the next call.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # async fn shut_down(client: imagekiln::Client) -> Result<(), imagekiln::Error> {
    /// for task in client.drain(Duration::from_secs(30)).await? {
    ///     println!("{} was accepted, and nobody waits for it", task.id());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn drain(&self, deadline: Duration) -> Result<Vec<TaskRef>, Error> {
        let submissions = &self.tasks().submissions;
        if time::timeout(deadline, submissions.all_ended()).await.is_err() {
            let left = submissions.lock().under_way.len();
            let message =
                format!("submissions still under way after {} s: {left}", deadline.as_secs_f32());
            return Err(Error::new(ErrorKind::Deadline, message)
                .with_billing_unknown()
                .with_advice(
                    "call it again; ending the program now may leave paid tasks that are not known",
                ));
        }
        Ok(submissions.lock().left_behind.drain(..).collect())
    }
}
