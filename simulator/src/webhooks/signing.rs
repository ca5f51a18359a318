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
            WebhookScheme::Secret => HeaderValue::from_str(secret)
                .map(Self::Verbatim)
                .map_err(|_| "the secret contains characters that are not allowed in a header"),
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
        let mut headers = Vec::new();
        if settings.scheme == WebhookScheme::Standard {
            let id = HeaderValue::try_from(webhook_id).ok();
            headers.extend(id.map(|id| (HeaderName::from_static("webhook-id"), id)));
            headers.push((HeaderName::from_static("webhook-timestamp"), timestamp.into()));
        }
        let (name, value) = match (self, settings.scheme) {
            (Self::None, _) => (None, None),
            (Self::Verbatim(secret), _) => (settings.header_name(), Some(secret.clone())),
            (Self::Keyed(key), WebhookScheme::Standard) => {
                let signed = [format!("{webhook_id}.{timestamp}.").as_bytes(), body].concat();
                let signature = format!("v1,{}", STANDARD.encode(mac(key, &signed)));
                (
                    Some(HeaderName::from_static("webhook-signature")),
                    HeaderValue::try_from(signature).ok(),
                )
            }
            (Self::Keyed(key), _) => {
                let signature = format!("sha256={}", hex(&mac(key, body)));
                (settings.header_name(), HeaderValue::try_from(signature).ok())
            }
        };
        headers.extend(name.zip(value).map(|(name, mut value)| {
            value.set_sensitive(matches!(self, Self::Verbatim(_)));
            (name, value)
        }));
        headers
    }
}

fn mac(key: &Hmac<Sha256>, message: &[u8]) -> [u8; 32] {
    key.clone().chain_update(message).finalize().into_bytes().into()
}
