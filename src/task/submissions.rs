//! The submissions of a client that asked for a webhook. The event may arrive before the response that names the task.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::watch, time};

use super::{TaskRef, recent::Recent};
use crate::Client;

/// How many tasks are remembered; the oldest are forgotten first.
const REMEMBERED: usize = 10_000;

/// How long an event is held for submissions under way.
const HOLD: Duration = Duration::from_secs(60);

pub(crate) struct Submissions {
    state: Mutex<State>,
    /// Changes when a submission ends.
    ended: watch::Sender<()>,
}

struct State {
    next: u64,
    under_way: BTreeSet<u64>,
    tasks: Recent<String, TaskRef>,
}

impl Default for Submissions {
    fn default() -> Self {
        let state = State { next: 0, under_way: BTreeSet::new(), tasks: Recent::new(REMEMBERED) };
        Self { state: Mutex::new(state), ended: watch::Sender::new(()) }
    }
}

impl Submissions {
    /// The task of this id. While submissions that began before now are under way, it may still become known.
    pub(crate) async fn find(&self, task_id: &str) -> Option<TaskRef> {
        time::timeout(HOLD, self.known(task_id)).await.ok().flatten()
    }

    async fn known(&self, task_id: &str) -> Option<TaskRef> {
        let mut ended = self.ended.subscribe();
        let now = self.lock().next;
        loop {
            {
                let state = self.lock();
                if let Some(task) = state.tasks.get(&task_id.to_owned()) {
                    return Some(task.clone());
                }
                state.under_way.range(..now).next()?;
            }
            ended.changed().await.ok()?;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A submission that is under way until this is dropped.
pub(super) struct UnderWay {
    client: Client,
    number: u64,
}

impl UnderWay {
    pub(super) fn new(client: &Client) -> Self {
        let mut state = client.0.submissions.lock();
        let number = state.next;
        state.next += 1;
        state.under_way.insert(number);
        drop(state);
        Self { client: client.clone(), number }
    }

    pub(super) fn accepted(&self, task: &TaskRef) {
        self.client.0.submissions.lock().tasks.add(task.id().to_owned(), task.clone());
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let submissions = &self.client.0.submissions;
        submissions.lock().under_way.remove(&self.number);
        submissions.ended.send_replace(());
    }
}
