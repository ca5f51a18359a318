//! The webhook settings that a client adds to requests.

use super::request::Request;
use crate::{Address, WebhookSecret};

pub(super) const URL: &str = "webhook_url";
pub(super) const SECRET: &str = "webhook_secret";

/// Webhook fields of the contract, for requests that do not set them.
#[derive(Debug, Clone, Default)]
pub(crate) struct WebhookDefaults {
    pub(crate) url: Option<Address>,
    pub(crate) secret: Option<WebhookSecret>,
}

impl WebhookDefaults {
    /// Adds the defaults to a request. Skips operations without webhooks in the contract, and the
    /// secret if the request has no webhook URL.
    pub(crate) fn fill(&self, request: &mut Request) {
        let url = self.url.as_ref().map(Address::reveal);
        let secret = self.secret.as_ref().map(WebhookSecret::reveal);
        for (name, value) in [(URL, url), (SECRET, secret)] {
            if let Some(value) = value
                && !request.has_field(name)
                && request.operation.field(name).is_some()
                && (name == URL || request.asks_for_webhook())
            {
                request.body.insert(name.to_owned(), value.into());
            }
        }
    }
}

impl Request {
    /// Whether the request asks for a webhook. An explicit `null` does not.
    pub(crate) fn asks_for_webhook(&self) -> bool {
        self.body.get(URL).is_some_and(|value| !value.is_null())
    }
}

#[cfg(test)]
mod tests {
    use super::WebhookDefaults;
    use crate::{Request, WebhookSecret, find_operation};

    #[test]
    fn an_operation_without_webhooks_gets_no_defaults() {
        let defaults = WebhookDefaults {
            url: Some("https://example.com/hook".into()),
            secret: Some(WebhookSecret::from("whsec")),
        };
        let mut request = Request::new(find_operation("get_result").unwrap());
        defaults.fill(&mut request);
        assert!(request.body.is_empty());
    }
}
