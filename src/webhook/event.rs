use std::fmt;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::Refusal;
use crate::{
    TaskStatus,
    values::{MAX_NAME, one_line},
};

/// Members of the body that may hold the one that describes the task.
const WRAPPERS: [&str; 4] = ["data", "task", "response", "result"];

/// Names of the member with the task's id, the clearer one first.
const ID_NAMES: [&str; 2] = ["task_id", "id"];

/// No id is longer, in bytes: a body of megabytes must not become one.
const MAX_ID: usize = 512;

/// What a delivery said, once it was verified. Made by [`Verifier::verify`](super::Verifier::verify) only.
///
/// It is a hint that something happened to a task, and not the truth: it may be late, out of order, or older than it looks.
/// [`Client::confirm`](crate::Client::confirm) polls the task with the key. Addresses in an event are not to be fetched.
///
/// Reading is lenient, because the contract does not show the payload: all of the JSON is kept, and an id is enough.
#[derive(Clone, PartialEq)]
pub struct Event {
    task_id: Option<String>,
    status: Option<TaskStatus>,
    message_id: Option<String>,
    json: Value,
    fingerprint: Fingerprint,
}

/// The same for two deliveries of the same event: a hash of the message's id, or of the body.
pub(super) type Fingerprint = [u8; 32];

/// What was verified.
pub(super) struct Message<'a> {
    /// The message's id, if it was signed.
    pub(super) id: Option<String>,
    pub(super) body: &'a [u8],
}

impl Event {
    pub(super) fn read(message: Message<'_>, pointer: Option<&str>) -> Result<Self, Refusal> {
        let json: Value = serde_json::from_slice(message.body).map_err(|_| Refusal::NotJson)?;
        let task_id = match pointer {
            Some(pointer) => json.pointer(pointer).and_then(id_text),
            None => find(&json, &ID_NAMES, id_text),
        };
        let status = find(&json, &["status"], |status| status.as_str().map(TaskStatus::from));
        let fingerprint = match &message.id {
            Some(id) => Sha256::new().chain_update(b"id").chain_update(id),
            None => Sha256::new().chain_update(b"body").chain_update(message.body),
        };
        let fingerprint = fingerprint.finalize().into();
        Ok(Self { task_id, status, message_id: message.id, json, fingerprint })
    }

    /// The id of the task, if one was found: see [`Verifier::task_id`](super::Verifier::task_id).
    pub fn task_id(&self) -> Option<&str> {
        self.task_id.as_deref()
    }

    /// The status that the event claims, if it claims one. Only a poll tells which status the task has.
    pub fn claimed_status(&self) -> Option<&TaskStatus> {
        self.status.as_ref()
    }

    /// The id of the message, which is the same each time that it is delivered. Only Standard Webhooks signs one.
    pub fn message_id(&self) -> Option<&str> {
        self.message_id.as_deref()
    }

    /// The body. It may hold signed URLs: do not log it.
    pub fn json(&self) -> &Value {
        &self.json
    }

    #[cfg(feature = "axum")]
    pub(super) fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }
}

/// The first of the names that the object has, or that a member of it has.
fn find<T>(json: &Value, names: &[&str], read: impl Fn(&Value) -> Option<T>) -> Option<T> {
    let places = || std::iter::once(json).chain(WRAPPERS.iter().filter_map(|wrapper| json.get(wrapper)));
    names.iter().find_map(|name| places().find_map(|place| place.get(name).and_then(&read)))
}

fn id_text(id: &Value) -> Option<String> {
    match id {
        Value::String(id) if !id.is_empty() && id.len() <= MAX_ID => Some(id.clone()),
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
