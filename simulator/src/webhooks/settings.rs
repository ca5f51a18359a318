//! How webhooks are signed, repeated and kept.

use std::time::Duration;

use axum::http::{HeaderName, header};
use serde::Deserialize;

use crate::seconds;

/// How a webhook shows that it comes from the service, where the request gave a `webhook_secret`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WebhookScheme {
    /// `hmac-sha256`: HMAC-SHA256 of the raw body, keyed by the secret, in lower-case hexadecimal
    /// behind `sha256=`, in the header [`WebhookSettings::header`].
    #[default]
    HmacSha256,
    /// `secret`: the secret itself, in the header [`WebhookSettings::header`].
    Secret,
    /// `standard`: Standard Webhooks, with the headers `webhook-id`, `webhook-timestamp` and
    /// `webhook-signature`. A secret of the form `whsec_` and base64 stands for the bytes in
    /// base64; any other is taken as it is.
    Standard,
}

/// How webhooks are sent. A table of its own in a configuration file:
///
/// ```
/// # use imagekiln_simulator::{Config, WebhookScheme};
/// let config = Config::from_toml("[webhooks]\nscheme = 'standard'\nretry_after = [0.5, 2]").unwrap();
/// assert_eq!(config.webhooks.scheme, WebhookScheme::Standard);
/// assert_eq!(config.webhooks.retry_after.len(), 2);
/// ```
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WebhookSettings {
    /// How they are signed. Default: `hmac-sha256`.
    pub scheme: WebhookScheme,
    /// The header of the signature or the secret; `standard` has headers of its own. A header's
    /// name, and none that the request itself needs. Default: `x-webhook-signature`.
    pub header: String,
    /// The pauses before a webhook is sent again, by the simulator's clock; after the last it is
    /// given up. At most 20. Default: 1, 5 and 30 seconds.
    #[serde(deserialize_with = "seconds::list")]
    pub retry_after: Vec<Duration>,
    /// How long a receiver may take to answer, in real time, from connecting to the answer's head.
    /// Above zero. Default: 10 seconds.
    #[serde(deserialize_with = "seconds::one")]
    pub timeout: Duration,
    /// Whether webhooks go to other machines. Default: `false`, which refuses every receiver but
    /// loopback addresses and `localhost`.
    pub allow_remote: bool,
    /// Whether every submission with a webhook is answered without `polling_url`, as the interface
    /// allows, and not only those of the operations that list this response. Default: `false`.
    pub omit_polling_url: bool,
    /// How many deliveries are kept. Where there would be more, those that ended first are
    /// forgotten; where all still wait, no further webhook is taken. At least 1. Default: 20,000.
    pub max_kept: usize,
    /// How many bytes of deliveries are kept, about; see `max_kept`. Default: 64 MiB.
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
    /// Settings with what must hold of them, in the words of
    /// [`StartError::Setting`](crate::StartError::Setting).
    pub(crate) fn checks(&self) -> [(&'static str, bool, &'static str); 4] {
        [
            (
                "webhooks.header",
                self.header_name().is_some(),
                "is no header that can be added to a webhook",
            ),
            ("webhooks.retry_after", self.retry_after.len() <= 20, "names more than 20 pauses"),
            ("webhooks.timeout", !self.timeout.is_zero(), "must be above zero"),
            ("webhooks.max_kept", self.max_kept > 0, "must be at least 1"),
        ]
    }

    /// The header's name, if it can be added to a request.
    pub(super) fn header_name(&self) -> Option<HeaderName> {
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
