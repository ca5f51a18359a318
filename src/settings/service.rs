//! Settings of the service: its key, its addresses, and the hosts that it may name.

use super::ClientBuilder;
use crate::{Address, WebhookSecret};

impl ClientBuilder {
    /// The API key, sent as `x-key` (Authentication of the contract). Required.
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.api_key = Some(key.into());
        self
    }

    /// The service's address, http or https, `{base_url}` of the contract. Required.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// The service's regional address, `{regional_base_url}` of the contract. Operations that are
    /// served from there need it, and no others.
    pub fn regional_base_url(mut self, url: impl Into<String>) -> Self {
        self.regional_base_url = Some(url.into());
        self
    }

    /// The head of the model names; `gen` by default. A service that says `xyz-2-pro` for
    /// `gen-2-pro` is reached with `xyz`.
    pub fn model_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.model_prefix = Some(prefix.into());
        self
    }

    /// Where the service sends its webhooks, for requests that do not set a `webhook_url` of their
    /// own: http or https, of 1 to 2083 characters. Operations for which the contract lists no
    /// webhook are left as they are.
    pub fn webhook_url(mut self, url: impl Into<Address>) -> Self {
        self.tasks.webhook.url = Some(url.into());
        self
    }

    /// The secret with which the service signs its webhooks, for requests that have a webhook and
    /// set no `webhook_secret` of their own.
    pub fn webhook_secret(mut self, secret: impl Into<WebhookSecret>) -> Self {
        self.tasks.webhook.secret = Some(secret.into());
        self
    }

    /// Allows the key to be sent to a polling host that it would not be sent to otherwise:
    /// `polls.example.net`, or with a port `polls.example.net:8443`. Over https, or on this
    /// machine's loopback, or with [`allow_http`](Self::allow_http).
    pub fn allow_polling_host(mut self, host: impl Into<String>) -> Self {
        self.polling_hosts.push(host.into());
        self
    }

    /// Allows pictures to be fetched from a host that is otherwise refused, because its address is
    /// private, link-local or loopback, or because the service is reached over https and the
    /// delivery URL is not: `minio.internal`, or with a port `10.0.0.7:9000`. The hosts of the base
    /// addresses may always deliver.
    pub fn allow_delivery_host(mut self, host: impl Into<String>) -> Self {
        self.delivery_hosts.push(host.into());
        self
    }

    /// Allows base addresses with `http://` on other machines, for instance a simulator in a
    /// container network; off by default. The key and all requests then travel unencrypted.
    /// `http://` on this machine's loopback is always allowed.
    pub fn allow_http(mut self, allowed: bool) -> Self {
        self.allow_http = allowed;
        self
    }
}
