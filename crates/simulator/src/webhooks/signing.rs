//! The headers that authenticate a webhook.

use axum::http::{HeaderName, HeaderValue};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::settings::{WebhookScheme, WebhookSettings};
use crate::runtime::chance::hex;

/// The prefix of a base64 secret in Standard Webhooks.
const STANDARD_PREFIX: &str = "whsec_";

/// The headers of an attempt that differ between webhooks.
pub(super) type Headers = Vec<(HeaderName, HeaderValue)>;

/// The secret of a request, prepared for the scheme.
#[derive(Clone)]
pub(super) enum SigningKey {
    /// The request has no secret.
    None,
    Keyed(Hmac<Sha256>),
    Verbatim(HeaderValue),
}

impl SigningKey {
    /// Prepares a secret. An empty one counts as none.
    pub(super) fn new(scheme: WebhookScheme, secret: Option<&str>) -> Result<Self, &'static str> {
        let Some(secret) = secret.filter(|secret| !secret.is_empty()) else {
            return Ok(Self::None);
        };
        let keyed = |key: &[u8]| {
            Hmac::new_from_slice(key)
                .map(Self::Keyed)
                .map_err(|_| "the secret cannot be used as a key")
        };
        match scheme {
            WebhookScheme::HmacSha256 => keyed(secret.as_bytes()),
            WebhookScheme::Secret => {
                let mut value = HeaderValue::from_str(secret).map_err(
                    |_| "the secret contains characters that are not allowed in a header",
                )?;
                value.set_sensitive(true);
                Ok(Self::Verbatim(value))
            }
            WebhookScheme::Standard => {
                let decoded = secret
                    .strip_prefix(STANDARD_PREFIX)
                    .and_then(|text| STANDARD.decode(text).ok());
                keyed(&decoded.unwrap_or_else(|| secret.as_bytes().to_vec()))
            }
        }
    }

    /// The headers of an attempt at Unix time `timestamp`. A secret is marked as sensitive; a
    /// signature may be shown.
    pub(super) fn headers(
        &self,
        settings: &WebhookSettings,
        webhook_id: &str,
        timestamp: u64,
        body: &[u8],
    ) -> Headers {
        let value = |text: String| HeaderValue::try_from(text).ok();
        let named = |name| Some(HeaderName::from_static(name));
        let mut headers = Vec::new();
        if settings.scheme == WebhookScheme::Standard {
            headers.push((named("webhook-id"), value(webhook_id.to_owned())));
            headers.push((named("webhook-timestamp"), Some(timestamp.into())));
        }
        headers.push(match (self, settings.scheme) {
            (Self::None, _) => (None, None),
            (Self::Verbatim(secret), _) => (settings.header_name(), Some(secret.clone())),
            (Self::Keyed(key), WebhookScheme::Standard) => {
                let signed = [format!("{webhook_id}.{timestamp}.").as_bytes(), body].concat();
                let signature = format!("v1,{}", STANDARD.encode(mac(key, &signed)));
                (named("webhook-signature"), value(signature))
            }
            (Self::Keyed(key), _) => {
                (settings.header_name(), value(format!("sha256={}", hex(&mac(key, body)))))
            }
        });
        headers.into_iter().filter_map(|(name, value)| name.zip(value)).collect()
    }
}

fn mac(key: &Hmac<Sha256>, message: &[u8]) -> [u8; 32] {
    key.clone().chain_update(message).finalize().into_bytes().into()
}
