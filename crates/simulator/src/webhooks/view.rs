//! What the log shows of webhooks.

use std::time::Duration;

use serde::Serialize;

use crate::values::{
    seconds,
    secret::{self, Secret},
};

/// What the simulator knows about a delivery: a webhook to a receiver, with its attempts.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct WebhookDelivery {
    /// The delivery's number, by which it can be [sent again](crate::Simulator::redeliver_webhook).
    pub id: u64,
    /// The id of the task.
    pub task: String,
    /// The receiver's URL, without user information, query and fragment, which may contain secrets.
    pub url: String,
    /// The webhook's id, the same in all attempts and redeliveries. The scheme `standard` sends it.
    pub webhook_id: String,
    /// Why this delivery exists.
    pub cause: WebhookCause,
    /// The state of the delivery.
    pub state: WebhookState,
    /// Why the receiver was refused, if it was.
    pub refusal: Option<&'static str>,
    /// When the last attempt was made or the next is due, on the simulator's clock; serialized in
    /// seconds.
    #[serde(serialize_with = "seconds::write")]
    pub due_at: Duration,
    /// The body: JSON, which may contain a valid delivery URL.
    #[serde(serialize_with = "secret::exposed")]
    pub body: Secret<String>,
    /// The headers of the last attempt that differ between webhooks, with the signature; a secret
    /// is replaced by `[redacted]`.
    pub headers: Vec<(String, String)>,
    /// The attempts, oldest first. One in progress has neither a status nor a problem.
    pub attempts: Vec<WebhookAttempt>,
}

/// One attempt to deliver a webhook.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct WebhookAttempt {
    /// When it began, on the simulator's clock; serialized in seconds.
    #[serde(serialize_with = "seconds::write")]
    pub at: Duration,
    /// The status code of the receiver's response.
    pub status: Option<u16>,
    /// Why there was no response.
    pub problem: Option<String>,
}

/// Why a delivery exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WebhookCause {
    /// The task ended.
    Final,
    /// A duplicate that nobody requested.
    Duplicate,
    /// A redelivery on demand.
    Redelivery,
    /// A forged webhook: it claims another status, and its signature is invalid.
    Forgery,
}

/// The state of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WebhookState {
    /// It is not due yet, in progress, or waiting for a retry.
    Waiting,
    /// A receiver responded with a 2xx.
    Delivered,
    /// All attempts failed.
    GivenUp,
    /// The receiver is not allowed; nothing is sent.
    Refused,
}
