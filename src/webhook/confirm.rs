//! Confirms events by polling their tasks.

use super::Event;
use crate::{
    Client, Error, ErrorKind, Region, TaskRef, Update,
    values::{MAX_NAME, one_line},
};

impl Client {
    /// Confirms an event by polling its task once, and wakes the waits of this client for the task.
    ///
    /// # Errors
    ///
    /// Kind [`Webhook`](ErrorKind::Webhook): the event contains no task id, or a different one.
    /// Otherwise the same errors as [`Task::poll`](crate::Task::poll): the event is not confirmed;
    /// try again.
    pub async fn confirm(&self, event: &Event, task: &TaskRef) -> Result<Update, Error> {
        let id = task_id(event)?;
        if id != task.id() {
            let id = one_line(id, MAX_NAME);
            return Err(Error::new(
                ErrorKind::Webhook,
                format!("the event is about a different task, {id}"),
            )
            .with_advice("look up the reference of the task in the event")
            .with_task(task));
        }
        self.shared().waits.wake(id);
        self.task(task.clone()).poll().await
    }

    /// Returns the reference of the task that an event is about, if this client submitted it with a
    /// webhook. If several tasks have the id of the event, for example in both regions, this is the
    /// last one that was accepted.
    ///
    /// The client remembers the last 10,000 such tasks. An event may arrive before
    /// [`submit`](Self::submit) has returned. If submissions are in flight, this method waits for
    /// them for at most a minute.
    ///
    /// `None` means that another process submitted the task; see [`confirm_in`](Self::confirm_in).
    pub async fn task_of(&self, event: &Event) -> Option<TaskRef> {
        self.shared().submissions.find(event.task_id()?).await.into_iter().next()
    }

    /// Confirms an event like [`confirm`](Self::confirm), for a task without a known reference.
    ///
    /// The client polls the task by its id at the base URL of `region`. A task is known only in the
    /// region that accepted it.
    ///
    /// # Errors
    ///
    /// Kind [`Settings`](ErrorKind::Settings): `region` is [`Regional`](Region::Regional), and the
    /// regional base URL is not set. Otherwise the same errors as [`confirm`](Self::confirm).
    pub async fn confirm_in(&self, event: &Event, region: Region) -> Result<Update, Error> {
        let id = task_id(event)?;
        let task = self.task_in(region, id)?;
        self.confirm(event, task.reference()).await
    }
}

fn task_id(event: &Event) -> Result<&str, Error> {
    event.task_id().ok_or_else(|| {
        Error::new(ErrorKind::Webhook, "the event contains no task id")
            .with_advice("set the location of the id in the body")
            .with_function("Verifier::task_id")
    })
}
