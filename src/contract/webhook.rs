//! The webhook that a client adds to requests.

use serde_json::Value;

use super::{field_value::FieldValue, request::Request};
use crate::{Address, WebhookSecret};

const URL: &str = "webhook_url";
const SECRET: &str = "webhook_secret";

/// What is sent with requests that do not set it themselves. Each is a field of the contract.
#[derive(Debug, Clone, Default)]
pub(crate) struct WebhookDefaults {
    pub(crate) url: Option<Address>,
    pub(crate) secret: Option<WebhookSecret>,
}

impl WebhookDefaults {
    /// Adds the defaults to a request. Operations for which the contract lists no webhook get none,
    /// and a secret is of no use without an address.
    pub(crate) fn fill(&self, request: &mut Request) {
        let is_wanted = |request: &Request, name| {
            !request.has_field(name) && request.operation().field(name).is_some()
        };
        if let Some(url) = self.url.as_ref().filter(|_| is_wanted(request, URL)) {
            request.put(URL, url.clone());
        }
        if let Some(secret) = self.secret.as_ref()
            && request.asks_for_webhook()
            && is_wanted(request, SECRET)
        {
            request.put(SECRET, secret.clone());
        }
    }
}

impl Request {
    /// Whether the service is asked to send a webhook; an explicit `null` asks for none.
    pub(crate) fn asks_for_webhook(&self) -> bool {
        self.fields
            .iter()
            .any(|(name, value)| name == URL && !matches!(value, FieldValue::Json(Value::Null)))
    }

    fn has_field(&self, name: &str) -> bool {
        self.fields.iter().any(|(set, _)| set == name)
    }
}
