//! Confirms events and passes finished tasks to the handler.

use std::{future::poll_fn, pin::Pin, sync::Arc};

use futures_core::Stream;
use tokio::{
    task::JoinSet,
    time::{self, Instant},
};

use super::Shared;
use crate::{
    Error, ErrorKind, Region, Task, TaskRef, TaskStatus, Update, WaitOptions, retry::Backoff,
    task::outcome,
};

/// The maximum number of polls of a task that the service reports as unknown after sending an event
/// for it.
const MAX_POLLS: u32 = 6;

/// Follows a task until there are no more events about it.
pub(super) async fn follow(shared: Arc<Shared>, task_id: String) {
    while let Some(events) = shared.followers.take(&task_id) {
        let claims = events.iter().map(|event| event.claimed_status.as_ref());
        // The claim that takes the longest to confirm confirms the others, too.
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
/// Several tasks may have the id of the event, for example in both regions. The event does not say
/// which one it is about, so all are polled.
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

/// `task` is the task that the event may be about, if it is known.
async fn follow_one(
    shared: &Shared,
    task_id: &str,
    task: Option<TaskRef>,
    claimed: Option<&TaskStatus>,
) -> bool {
    let (task, update) = match confirm(shared, task_id, task, claimed).await {
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
    match tokio::spawn((shared.handler)(outcome(update, &task))).await {
        Ok(()) => in_progress.done(),
        Err(error) => {
            tracing::error!(task_id, %error, "the webhook handler panicked");
            return false;
        }
    }
    true
}

/// Polls until the event is confirmed or the deadline passes. Also retries after errors that end a
/// normal wait: the receiver has already responded to the delivery, so the service will not repeat
/// it. `Task not found` is only accepted after several attempts, because polls may lag behind the
/// event.
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
        let options = shared.wait_options.deadline(left());
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
            // The response to its submission may have arrived by now.
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
    // Another process submitted the task, so its region is unknown.
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

/// Returns the task and the update that confirms the event: one with a final status, or any status
/// if the event does not claim a final one. Polls may lag behind the event.
async fn poll(
    task: Task,
    claimed: Option<&TaskStatus>,
    options: WaitOptions,
) -> Result<(TaskRef, Update), Error> {
    let claims_final = claimed.is_none_or(TaskStatus::is_final);
    let mut updates = task.updates(options);
    while let Some(update) = poll_fn(|cx| Pin::new(&mut updates).poll_next(cx)).await {
        let update = update?;
        if update.status().is_final() || !claims_final {
            return Ok((task.reference().clone(), update));
        }
    }
    Err(Error::new(ErrorKind::Response, "polling ended without a final status"))
}
