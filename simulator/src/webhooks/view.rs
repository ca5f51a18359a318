//! What is told of webhooks.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::seconds;

/// What the simulator knows of a delivery: a webhook on its way to a receiver, with its attempts.
#[derive(Clone, Serialize)]
#[non_exhaustive]
pub struct WebhookDelivery {
    /// The delivery's number, by which it can be [repeated](crate::Simulator::redeliver_webhook).
    pub id: u64,
    /// The id of the task.
    pub task: String,
    /// The receiver's address, without user information, query and fragment, which may hold
    /// secrets.
    pub url: String,
    /// The webhook's id, the same in all attempts and repetitions. The scheme `standard` sends it.
    pub webhook_id: String,
    /// Why there is this delivery.
    pub cause: WebhookCause,
    /// What became of it.
    pub state: WebhookState,
    /// Why it was refused, where it was.
    pub refusal: Option<&'static str>,
    /// When the last attempt was or the next is due, by the simulator's clock, in seconds where
    /// serialized.
    #[serde(serialize_with = "seconds::write")]
    pub due_at: Duration,
    /// The body: JSON, with a delivery address that is good for as long as any other. Left out of
    /// `Debug`.
    pub body: String,
    /// The headers of the last attempt that are not the same for every webhook; signatures and
    /// secrets are replaced by `[redacted]`.
    pub headers: Vec<(String, String)>,
    /// The attempts, the first one first. One that is under way has neither status nor problem.
    pub attempts: Vec<WebhookAttempt>,
}

/// One attempt to deliver a webhook.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct WebhookAttempt {
    /// When it began, by the simulator's clock, in seconds where serialized.
    #[serde(serialize_with = "seconds::write")]
    pub at: Duration,
    /// The status of the receiver's answer.
    pub status: Option<u16>,
    /// Why there was no answer.
    pub problem: Option<String>,
}

/// Why there is a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WebhookCause {
    /// The task became final.
    Final,
    /// The same once more, unasked.
    Duplicate,
    /// The same once more, on demand.
    Redelivery,
    /// Not the service's word: it claims another status, and its signature is wrong.
    Forgery,
}

/// What became of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WebhookState {
    /// It is not due yet, or under way, or will be sent again.
    Waiting,
    /// An attempt was answered with a 2xx.
    Delivered,
    /// No attempt was, and there will be none any more.
    GivenUp,
    /// Nothing was sent, and nothing will be.
    Refused,
}

impl fmt::Debug for WebhookDelivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookDelivery")
            .field("id", &self.id)
            .field("task", &self.task)
            .field("url", &self.url)
            .field("webhook_id", &self.webhook_id)
            .field("cause", &self.cause)
            .field("state", &self.state)
            .field("refusal", &self.refusal)
            .field("due_at", &self.due_at)
            .field("body", &format_args!("[{} bytes]", self.body.len()))
            .field("headers", &self.headers)
            .field("attempts", &self.attempts)
            .finish()
    }
}
