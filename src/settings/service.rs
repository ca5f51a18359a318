//! Settings of the service: its key, its base URLs, and the hosts that it may refer to.

use super::ClientBuilder;
use crate::{Address, Secret, WebhookSecret};

impl ClientBuilder {
    /// Sets the API key, which is sent in the header `x-key`. Required.
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.api_key = Some(Secret::from(key));
        self
    }

    /// Sets the http or https base URL of the service, `{base_url}` in the contract. Required.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Sets the regional base URL of the service, `{regional_base_url}` in the contract. Required
    /// only for operations that are served from it.
    pub fn regional_base_url(mut self, url: impl Into<String>) -> Self {
        self.regional_base_url = Some(url.into());
        self
    }

    /// Sets the model name prefix. The default is `gen`.
    ///
    /// For a service with the model `xyz-2-pro` instead of `gen-2-pro`, set `xyz`.
    pub fn model_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.model_prefix = Some(prefix.into());
        self
    }

    /// Sets the URL to which the service sends webhooks, for requests without their own
    /// `webhook_url`.
    ///
    /// It must be an http or https URL of 1 to 2083 characters. Requests to operations without
    /// webhooks in the contract are not changed.
    pub fn webhook_url(mut self, url: impl Into<Address>) -> Self {
        self.tasks.webhook.url = Some(url.into());
        self
    }

    /// Sets the secret that signs webhooks, for requests that have a webhook but no
    /// `webhook_secret`.
    pub fn webhook_secret(mut self, secret: impl Into<WebhookSecret>) -> Self {
        self.tasks.webhook.secret = Some(secret.into());
        self
    }

    /// Allows a polling host to receive the key that would not receive it otherwise.
    ///
    /// Write a host such as `polls.example.net`, optionally with a port: `polls.example.net:8443`.
    /// The key is only sent over https, to the local machine, or with
    /// [`allow_http`](Self::allow_http).
    pub fn allow_polling_host(mut self, host: impl Into<String>) -> Self {
        self.polling_hosts.push(host.into());
        self
    }

    /// Allows downloads of pictures from a host that would be refused otherwise.
    ///
    /// A host is refused if its address is private, link-local or loopback, or if it uses http but
    /// the base URL uses https. Write a host such as `minio.internal`, optionally with a port:
    /// `10.0.0.7:9000`. The hosts of the base URLs are always allowed.
    pub fn allow_delivery_host(mut self, host: impl Into<String>) -> Self {
        self.delivery_hosts.push(host.into());
        self
    }

    /// Sets whether `http://` base URLs on other machines are allowed, for example a simulator in a
    /// container network. The default is `false`.
    ///
    /// The key and all requests are then sent unencrypted. `http://` on the loopback interface is
    /// always allowed.
    pub fn allow_http(mut self, allowed: bool) -> Self {
        self.allow_http = allowed;
        self
    }
}
