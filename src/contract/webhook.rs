//! The webhook settings that a client adds to requests.

use super::request::Request;
use crate::{Address, WebhookSecret};

pub(super) const URL: &str = "webhook_url";
const SECRET: &str = "webhook_secret";

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
        let is_wanted = |request: &Request, name| {
            !request.has_field(name) && request.operation().field(name).is_some()
        };
        if let Some(url) = self.url.as_ref().filter(|_| is_wanted(request, URL)) {
            request.body.insert(URL.to_owned(), url.reveal().into());
        }
        if let Some(secret) = self.secret.as_ref()
            && request.asks_for_webhook()
            && is_wanted(request, SECRET)
        {
            request.body.insert(SECRET.to_owned(), secret.reveal().into());
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
