//! Reads webhook events leniently, and confirms them with a poll of the task.

use std::collections::HashMap;

use bytes::Bytes;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, value::RawValue};

use super::scheme::{Rejection, Verified};
use crate::{
    Client, Error, ErrorKind, Region, Secret, TaskRef, TaskStatus, Update,
    task::{WRAPPERS, id_text},
    values::{MAX_NAME, one_line},
};

/// The names of members that may contain the task id, the most specific one first.
const ID_NAMES: [&str; 2] = ["task_id", "id"];

/// The maximum length of the JSON of an id or a status, in bytes.
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
    /// The body as received. It may contain signed URLs.
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
                .and_then(id_text)
                .filter(|id| id.len() <= MAX_VALUE),
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

    /// Returns the id of the message, which is the same for every delivery of this message. `None`
    /// unless the scheme is Standard Webhooks, because the other schemes do not sign an id.
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

/// The members of an object. The values are not parsed, because most of a large body is not needed.
type Members<'a> = HashMap<String, &'a RawValue>;

/// Returns the objects that may describe the task: the body, and the members in which services wrap
/// the task.
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

/// Returns the value of the first name that is a member of one of the objects and that `read`
/// accepts.
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

impl Client {
    /// Tells this client that the process receives the webhooks of its tasks. The client then polls
    /// tasks that ask for a webhook less often: if no event arrives, a poll finds that a task which
    /// takes `d` seconds is ready after at most `2 d + 1` seconds. When a task becomes ready
    /// without an event, the client returns to its normal polling.
    ///
    /// A [`Receiver`](super::Receiver) calls this method. Call it yourself if the program receives
    /// webhooks without a `Receiver`.
    pub fn expect_events(&self) {
        self.shared.waits.expect_events();
    }

    /// Confirms an event by polling its task once. Also wakes the waits of this client for the
    /// task, which then use the result of this poll or poll the task themselves.
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

    /// Returns the reference of the task that an event is about, if this client has submitted the
    /// task with a webhook. If several tasks have the id in the event, for example one in each
    /// region, this method returns the task that was accepted last.
    ///
    /// The client remembers the last 10,000 such tasks. An event may arrive before
    /// [`submit`](Self::submit) has returned. So if the task is not known yet, and submissions with
    /// a webhook are in flight, this method waits for these submissions for at most a minute.
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
