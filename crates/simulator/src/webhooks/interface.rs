//! The settings of webhooks, and what the Rust API and the control interface show of webhooks.

use std::time::Duration;

use axum::http::{HeaderName, header};
use serde::{Deserialize, Serialize};

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

/// How the simulator authenticates a webhook if the request has a `webhook_secret`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WebhookScheme {
    /// `hmac-sha256`: an HMAC-SHA256 of the raw body, keyed by the secret, as `sha256=` and
    /// lower-case hexadecimal, in the header [`WebhookSettings::header`].
    #[default]
    HmacSha256,
    /// `secret`: the secret itself, in the header [`WebhookSettings::header`].
    Secret,
    /// `standard`: Standard Webhooks, with the headers `webhook-id`, `webhook-timestamp` and
    /// `webhook-signature`. A secret that consists of `whsec_` and base64 is decoded; any other
    /// secret is used as it is.
    Standard,
}

/// How webhooks are sent. A configuration file has these settings in a table of their own:
///
/// ```
/// # use imagekiln_simulator::{Config, WebhookScheme};
/// let text = "[webhooks]\nscheme = 'standard'\nretry_after = [0.5, 2]";
/// let config = Config::from_toml(text).unwrap();
/// assert_eq!(config.webhooks.scheme, WebhookScheme::Standard);
/// assert_eq!(config.webhooks.retry_after.len(), 2);
/// ```
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WebhookSettings {
    /// The signature scheme. Default: `hmac-sha256`.
    pub scheme: WebhookScheme,
    /// The header that contains the signature or the secret, except for `standard`. It must be a
    /// valid name of a header that the request does not need for anything else. Default:
    /// `x-webhook-signature`.
    pub header: String,
    /// The delays before each retry, on the simulator's clock. After the last retry, the simulator
    /// gives the webhook up. At most 20. Default: 1, 5 and 30 seconds.
    #[serde(deserialize_with = "seconds::list")]
    pub retry_after: Vec<Duration>,
    /// The time within which a receiver must respond with headers, from the start of the
    /// connection, in real time. Must not be zero. Default: 10 seconds.
    #[serde(deserialize_with = "seconds::one")]
    pub timeout: Duration,
    /// Whether webhooks may be sent to other machines. Default: `false`, which allows only loopback
    /// addresses and `localhost`.
    pub allow_remote: bool,
    /// Whether the response to a submission with a webhook is the contract's
    /// `AsyncWebhookResponse`, with the status and the webhook's URL instead of `polling_url`.
    /// Otherwise, the response is the same as for all other submissions. Default: `false`, because
    /// published clients fail on a response without `polling_url`.
    pub omit_polling_url: bool,
    /// The maximum number of deliveries to keep. Above it, the simulator drops finished deliveries,
    /// oldest first; if all deliveries are pending, it does not send new webhooks. At least 1.
    /// Default: 20,000.
    pub max_kept: usize,
    /// The approximate maximum size of all kept deliveries in bytes. Above it, deliveries are
    /// dropped as for `max_kept`. Default: 64 MiB.
    pub max_kept_bytes: usize,
}

impl Default for WebhookSettings {
    fn default() -> Self {
        Self {
            scheme: WebhookScheme::default(),
            header: "x-webhook-signature".to_owned(),
            retry_after: [1, 5, 30].map(Duration::from_secs).to_vec(),
            timeout: Duration::from_secs(10),
            allow_remote: false,
            omit_polling_url: false,
            max_kept: 20_000,
            max_kept_bytes: 64 << 20,
        }
    }
}

impl WebhookSettings {
    /// The name of the header, if it is valid and the request does not need it for anything else.
    pub(crate) fn header_name(&self) -> Option<HeaderName> {
        const TAKEN: [HeaderName; 6] = [
            header::HOST,
            header::CONTENT_TYPE,
            header::CONTENT_LENGTH,
            header::CONNECTION,
            header::TRANSFER_ENCODING,
            header::USER_AGENT,
        ];
        HeaderName::try_from(&self.header).ok().filter(|name| !TAKEN.contains(name))
    }
}
