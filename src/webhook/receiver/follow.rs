//! From an event to the handler: the task is looked up and polled until its final status is seen.

use std::{future::poll_fn, pin::Pin};

use futures_core::Stream;
use tokio::time::{self, Instant};

use super::Shared;
use crate::{
    Error, ErrorKind, Region, TaskRef, TaskStatus, Update, WaitOptions, task::outcome,
    transport::retry,
};

/// How often a task is polled that the service sent an event about and does not know.
const MOST_POLLS: u32 = 6;

/// What confirmed an event.
struct Confirmation {
    task: TaskRef,
    update: Update,
}

/// Confirms the event and hands a finished task over. Says whether the event was handled.
pub(super) async fn follow(shared: &Shared, task_id: &str, claimed: Option<&TaskStatus>) -> bool {
    let confirmation = match confirm(shared, task_id, claimed).await {
        Ok(confirmation) => confirmation,
        Err(error) => {
            tracing::warn!(task_id, kind = ?error.kind(), %error, "a webhook could not be confirmed");
            return false;
        }
    };
    let status = confirmation.update.status();
    tracing::debug!(task_id, %status, "webhook confirmed");
    if !status.is_final() {
        return true;
    }
    let Some(handing) = shared.memory.tasks.begin(task_id.to_owned()) else { return true };
    let outcome = outcome(confirmation.update, &confirmation.task);
    match tokio::spawn((shared.handler)(outcome)).await {
        Ok(()) => handing.done(),
        Err(error) => {
            tracing::error!(task_id, %error, "the handler of webhooks did not end");
            return false;
        }
    }
    true
}

/// Polls until the event is confirmed or the deadline passes, also after errors that a wait would
/// end with: the delivery was answered, so nobody else will try again. A service that does not know
/// the task may lag behind its own event, so that is believed after some attempts only.
async fn confirm(
    shared: &Shared,
    task_id: &str,
    claimed: Option<&TaskStatus>,
) -> Result<Confirmation, Error> {
    let started = Instant::now();
    let left = || shared.wait_options.longest().saturating_sub(started.elapsed());
    let mut attempt = 1;
    loop {
        let options = shared.wait_options.deadline(left());
        let confirmed = confirm_once(shared, task_id, claimed, options).await;
        let may_lag = claimed != Some(&TaskStatus::TaskNotFound) && attempt < MOST_POLLS;
        let is_settled = match confirmed.as_ref().map_err(Error::kind) {
            Ok(confirmation) => !(may_lag && is_unknown(&confirmation.update)),
            Err(ErrorKind::TaskNotFound) => !may_lag,
            Err(kind) => kind == ErrorKind::KeyWithheld,
        };
        let pause = retry::delay(attempt, &shared.client.service().random);
        if is_settled || pause >= left() {
            return confirmed;
        }
        time::sleep(pause).await;
        attempt += 1;
    }
}

async fn confirm_once(
    shared: &Shared,
    task_id: &str,
    claimed: Option<&TaskStatus>,
    options: WaitOptions,
) -> Result<Confirmation, Error> {
    let client = &shared.client;
    if let Some(task) = client.tasks().submissions.find(task_id).await {
        let update = poll(shared, &task, claimed, options).await?;
        return Ok(Confirmation { task, update });
    }
    // Submitted by another process: only polling tells where.
    for region in [Region::Global, Region::Regional] {
        let Ok(task) = client.task_in(region, task_id) else { continue };
        let task = task.reference().clone();
        let update = poll(shared, &task, claimed, options).await?;
        if !is_unknown(&update) {
            return Ok(Confirmation { task, update });
        }
    }
    Err(Error::new(ErrorKind::TaskNotFound, "the service does not know the task of a webhook"))
}

fn is_unknown(update: &Update) -> bool {
    *update.status() == TaskStatus::TaskNotFound
}

/// The update that confirms the event: of the final status, or of any status if the event claims no
/// more. A poll may lag behind an event that claims a final status.
async fn poll(
    shared: &Shared,
    task: &TaskRef,
    claimed: Option<&TaskStatus>,
    options: WaitOptions,
) -> Result<Update, Error> {
    let claims_final = claimed.is_none_or(TaskStatus::is_final);
    let task = shared.client.task(task.clone());
    let mut updates = task.updates(options);
    loop {
        match poll_fn(|cx| Pin::new(&mut updates).poll_next(cx)).await {
            Some(Ok(update)) if claims_final && !update.status().is_final() => {}
            Some(update) => return update,
            None => {
                return Err(Error::new(ErrorKind::Reply, "polling ended without a final status"));
            }
        }
    }
}
