//! From an event to what is true of its task: one poll with the key.

use super::Event;
use crate::{
    Client, Error, ErrorKind, Region, TaskRef, Update,
    values::{MAX_NAME, one_line},
};

impl Client {
    /// Polls the task that an event is about, once, where it was submitted. Waits of this client
    /// for the task are woken.
    ///
    /// # Errors
    ///
    /// Kind [`Webhook`](ErrorKind::Webhook): the event names no task, or another one. Otherwise as
    /// [`Task::poll`](crate::Task::poll): the event is not confirmed yet, so confirm it again.
    pub async fn confirm(&self, event: &Event, task: &TaskRef) -> Result<Update, Error> {
        let id = named_task(event)?;
        if id != task.id() {
            let id = one_line(id, MAX_NAME);
            return Err(Error::new(
                ErrorKind::Webhook,
                format!("the event is about another task, {id}"),
            )
            .with_advice("look up the reference of the event's own task")
            .with_task(task));
        }
        self.tasks().waits.wake(id);
        self.task(task.clone()).poll().await
    }

    /// The reference of the task that an event is about, if this client submitted it and asked for
    /// a webhook; the last 10,000 are remembered. An event may arrive before
    /// [`submit`](Self::submit) has returned: if submissions are under way, this waits until they
    /// have ended, for a minute at most.
    ///
    /// `None`: another process submitted it. See [`confirm_in`](Self::confirm_in).
    pub async fn task_of(&self, event: &Event) -> Option<TaskRef> {
        self.tasks().submissions.find(event.task_id()?).await
    }

    /// As [`confirm`](Self::confirm), for a task of which only the event is known: it is polled by
    /// its id at the address of this region. A task is known only at the address that took it.
    ///
    /// # Errors
    ///
    /// Kind [`Settings`](ErrorKind::Settings): the region is [`Regional`](Region::Regional), and no
    /// regional address is set. Otherwise as [`confirm`](Self::confirm).
    pub async fn confirm_in(&self, event: &Event, region: Region) -> Result<Update, Error> {
        let id = named_task(event)?;
        let task = self.task_in(region, id)?;
        self.confirm(event, task.reference()).await
    }
}

fn named_task(event: &Event) -> Result<&str, Error> {
    event.task_id().ok_or_else(|| {
        Error::new(ErrorKind::Webhook, "the event names no task")
            .with_advice("say where its body has the id, with Verifier::task_id")
    })
}
