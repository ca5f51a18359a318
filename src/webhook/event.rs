use std::{collections::HashMap, fmt};

use bytes::Bytes;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, value::RawValue};

use super::Refusal;
use crate::{
    TaskStatus,
    task::WRAPPERS,
    values::{MAX_NAME, one_line},
};

/// Names of the member with the task's id, the clearer one first.
const ID_NAMES: [&str; 2] = ["task_id", "id"];

/// Neither an id nor a status is longer, in bytes of JSON: a body of megabytes must not become one.
const MAX_VALUE: usize = 1024;

/// What a delivery said, from [`Verifier::verify`](super::Verifier::verify).
///
/// It is a hint that something happened to a task, and not the truth: it may be late, out of order,
/// or older than it looks. [`Client::confirm`](crate::Client::confirm) polls the task with the key.
/// URLs in an event are not to be fetched.
///
/// Reading is lenient, because the contract does not show the payload: the body is kept whatever
/// its shape, and an id is enough.
#[derive(Clone, PartialEq, Eq)]
pub struct Event {
    task_id: Option<String>,
    status: Option<TaskStatus>,
    message_id: Option<String>,
    body: Bytes,
    fingerprint: Fingerprint,
}

/// The same for two deliveries of the same event, and for no others: a hash of the message's id, or
/// of the body.
pub(super) type Fingerprint = [u8; 32];

/// What the scheme verified.
pub(super) struct Verified {
    /// The message's id, if it was signed.
    pub(super) message_id: Option<String>,
    pub(super) fingerprint: Fingerprint,
}

impl Event {
    pub(super) fn read(
        verified: Verified,
        body: &[u8],
        pointer: Option<&str>,
    ) -> Result<Self, Refusal> {
        let text = std::str::from_utf8(body).map_err(|_| Refusal::NotJson)?;
        let places = places(text)?;
        let task_id = match pointer {
            Some(pointer) => serde_json::from_str::<Value>(text)
                .map_err(|_| Refusal::NotJson)?
                .pointer(pointer)
                .and_then(id_text),
            None => find(&places, &ID_NAMES, id_text),
        };
        let status = find(&places, &["status"], |status| status.as_str().map(TaskStatus::from));
        let Verified { message_id, fingerprint } = verified;
        Ok(Self { task_id, status, message_id, body: Bytes::copy_from_slice(body), fingerprint })
    }

    /// The id of the task, if one was found: see [`Verifier::task_id`](super::Verifier::task_id).
    pub fn task_id(&self) -> Option<&str> {
        self.task_id.as_deref()
    }

    /// The status that the event claims, if it claims one. Only a poll tells which status the task
    /// has.
    pub fn claimed_status(&self) -> Option<&TaskStatus> {
        self.status.as_ref()
    }

    /// The id of the message, which is the same each time that it is delivered. Only Standard
    /// Webhooks signs one.
    pub fn message_id(&self) -> Option<&str> {
        self.message_id.as_deref()
    }

    /// The body as it was received: JSON. It may hold signed URLs: do not log it.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// The body, read into a type of your own or into a [`serde_json::Value`].
    ///
    /// # Errors
    ///
    /// The body does not fit the type.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.body)
    }

    #[cfg(feature = "axum")]
    pub(super) fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }
}

/// The members of an object, each still as text: most of a large body is of no interest.
type Members<'a> = HashMap<String, &'a RawValue>;

/// The objects that may describe the task: the body and some of its members.
fn places(body: &str) -> Result<Vec<Members<'_>>, Refusal> {
    let Ok(outermost) = serde_json::from_str::<Members<'_>>(body) else {
        // JSON that is not an object describes no task.
        return serde_json::from_str(body)
            .map(|_: IgnoredAny| Vec::new())
            .map_err(|_| Refusal::NotJson);
    };
    let wrapped = WRAPPERS
        .iter()
        .filter_map(|wrapper| serde_json::from_str(outermost.get(*wrapper)?.get()).ok());
    let wrapped: Vec<_> = wrapped.collect();
    Ok([vec![outermost], wrapped].concat())
}

/// The first of the names that one of the objects has.
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

/// The body is left out: it may hold signed URLs.
impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |text: &String| one_line(text, MAX_NAME);
        f.debug_struct("Event")
            .field("task_id", &self.task_id.as_ref().map(line))
            .field("claimed_status", &self.status)
            .field("message_id", &self.message_id.as_ref().map(line))
            .finish_non_exhaustive()
    }
}
