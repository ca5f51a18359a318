//! The view of webhooks: what the Rust API and the control interface show.

use std::time::Duration;

use serde::Serialize;

use crate::values::{
    seconds,
    secret::{self, Secret},
};

/// What the simulator knows about a delivery, which is a webhook to a receiver, with all its
/// attempts.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct WebhookDelivery {
    /// The number of the delivery, with which it can be [sent
    /// again](crate::Simulator::redeliver_webhook).
    pub id: u64,
    /// The id of the task.
    pub task: String,
    /// The receiver's URL, without user information, query and fragment, which may contain secrets.
    pub url: String,
    /// The id of the webhook, which is the same in all attempts and redeliveries. The scheme
    /// `standard` sends it.
    pub webhook_id: String,
    /// Why this delivery exists.
    pub cause: WebhookCause,
    /// The state of the delivery.
    pub state: WebhookState,
    /// Why the receiver was refused, if it was.
    pub refusal: Option<&'static str>,
    /// The time of the last attempt, or of the next one if it is still due, on the simulator's
    /// clock. Serialized in seconds.
    #[serde(serialize_with = "seconds::write")]
    pub due_at: Duration,
    /// The body: JSON, which may contain a valid delivery URL.
    #[serde(serialize_with = "secret::exposed")]
    pub body: Secret<String>,
    /// The headers of the last attempt, including the signature, without those that are the same
    /// for all webhooks. The secret itself is replaced by `[redacted]`.
    pub headers: Vec<(String, String)>,
    /// The attempts, oldest first. An attempt in progress has neither a status nor a problem.
    pub attempts: Vec<WebhookAttempt>,
}

/// One attempt to deliver a webhook.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct WebhookAttempt {
    /// When the attempt began, on the simulator's clock. Serialized in seconds.
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
    /// The task ended, and the fault `webhook-duplicate` repeats its webhook.
    Duplicate,
    /// Somebody sent the webhook again, through the API of the simulator.
    Redelivery,
    /// A forged webhook, which claims another status, and has an invalid signature.
    Forgery,
}

/// The state of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WebhookState {
    /// The delivery is not due yet, is in progress, or waits for a retry.
    Waiting,
    /// The receiver responded with a status code from 200 to 299.
    Delivered,
    /// All attempts failed.
    GivenUp,
    /// The receiver is not allowed, so nothing is sent.
    Refused,
}
