//! Webhook events, as far as they can be read, and their confirmation by a poll.

use std::collections::HashMap;

use bytes::Bytes;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, value::RawValue};

use super::scheme::{Rejection, Verified};
use crate::{
    Client, Error, ErrorKind, Region, Secret, TaskRef, TaskStatus, Update,
    task::WRAPPERS,
    values::{MAX_NAME, one_line},
};

/// The members that may contain the task id, most specific first.
const ID_NAMES: [&str; 2] = ["task_id", "id"];

/// The maximum length of an id or a status in bytes of JSON.
const MAX_VALUE: usize = 1024;

/// A verified webhook event, returned by [`Verifier::verify`](super::Verifier::verify).
///
/// An event is a hint that the state of a task has changed. It may be late, out of order, or a
/// replay. Confirm it with [`Client::confirm`](crate::Client::confirm), which polls the task with
/// the key. Do not fetch URLs from an event.
///
/// The contract does not define the payload, so parsing is lenient: any JSON is accepted, and an id
/// is enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    task_id: Option<String>,
    claimed_status: Option<TaskStatus>,
    /// May contain signed URLs.
    body: Secret<Bytes>,
    pub(super) verified: Verified,
}

impl Event {
    pub(super) fn read(
        verified: Verified,
        body: &[u8],
        pointer: Option<&str>,
    ) -> Result<Self, Rejection> {
        let text = std::str::from_utf8(body).map_err(|_| Rejection::NotJson)?;
        let places = places(text)?;
        let task_id = match pointer {
            Some(pointer) => serde_json::from_str::<Value>(text)
                .map_err(|_| Rejection::NotJson)?
                .pointer(pointer)
                .and_then(id_text),
            None => find(&places, &ID_NAMES, id_text),
        };
        let claimed_status =
            find(&places, &["status"], |status| status.as_str().map(TaskStatus::from));
        let body = Secret::new(Bytes::copy_from_slice(body));
        Ok(Self { task_id, claimed_status, body, verified })
    }

    /// Returns the id of the task, if the body contains one; see
    /// [`Verifier::task_id`](super::Verifier::task_id).
    pub fn task_id(&self) -> Option<&str> {
        self.task_id.as_deref()
    }

    /// Returns the status that the event claims, if any. Only a poll returns the actual status of
    /// the task.
    pub fn claimed_status(&self) -> Option<&TaskStatus> {
        self.claimed_status.as_ref()
    }

    /// Returns the id of the message, which is the same for every delivery of it. Only Standard
    /// Webhooks sign one.
    pub fn message_id(&self) -> Option<&str> {
        self.verified.message_id.as_deref()
    }

    /// Returns the JSON body as received. It may contain signed URLs, so do not log it.
    pub fn body(&self) -> &Bytes {
        self.body.get()
    }

    /// Deserializes the body into a type such as [`serde_json::Value`].
    ///
    /// # Errors
    ///
    /// The body does not match the type.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(self.body.get())
    }
}

/// The members of an object as unparsed text, because most of a large body is not needed.
type Members<'a> = HashMap<String, &'a RawValue>;

/// Returns the objects that may describe the task: the body and some of its members.
fn places(body: &str) -> Result<Vec<Members<'_>>, Rejection> {
    let Ok(outermost) = serde_json::from_str::<Members<'_>>(body) else {
        // JSON that is not an object contains no task.
        return serde_json::from_str(body)
            .map(|_: IgnoredAny| Vec::new())
            .map_err(|_| Rejection::NotJson);
    };
    let wrapped = WRAPPERS
        .iter()
        .filter_map(|wrapper| serde_json::from_str(outermost.get(*wrapper)?.get()).ok());
    let wrapped: Vec<_> = wrapped.collect();
    Ok([vec![outermost], wrapped].concat())
}

/// Returns the first of the named members found in one of the objects.
fn find<T>(
    places: &[Members<'_>],
    names: &[&str],
    read: impl Fn(&Value) -> Option<T>,
) -> Option<T> {
    let value = |member: &&RawValue| {
        let text = Some(member.get()).filter(|text| text.len() <= MAX_VALUE)?;
        read(&serde_json::from_str(text).ok()?)
    };
    names.iter().find_map(|name| places.iter().find_map(|place| place.get(*name).and_then(value)))
}

fn id_text(id: &Value) -> Option<String> {
    match id {
        Value::String(id) if !id.is_empty() && id.len() <= MAX_VALUE => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    }
}

impl Client {
    /// Tells this client that the process receives the webhooks of its tasks. Until a task is ready
    /// without an event, the client polls the tasks that ask for one more rarely: a task that takes
    /// `d` seconds is found by a poll after at most `2 d + 1` seconds.
    ///
    /// A [`Receiver`](super::Receiver) calls it. Call it if you receive webhooks without one.
    pub fn expect_events(&self) {
        self.shared.waits.expect_events();
    }

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
        let confirmed = self.task(task.clone()).poll().await;
        self.shared.waits.wake(id, confirmed.as_ref().ok().map(|update| (task, update)));
        confirmed
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
        self.shared.submissions.find(event.task_id()?).await.into_iter().next()
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
