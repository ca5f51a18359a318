//! The settings of a client: from the builder, or from the environment if the caller asks for that.

mod build;
mod environment;

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use crate::{
    Address, Error, ErrorKind, WebhookSecret,
    contract::WebhookDefaults,
    journal::Journal,
    transport::{clock::WallClock, hosts, http::Customize},
};

pub use environment::{
    ALLOW_HTTP_VARIABLE, API_KEY_VARIABLE, BASE_URL_VARIABLE, MODEL_PREFIX_VARIABLE,
    REGIONAL_BASE_URL_VARIABLE, WEBHOOK_SECRET_VARIABLE, WEBHOOK_URL_VARIABLE,
};

/// The largest picture that is fetched by default, in bytes.
const DEFAULT_MAX_PICTURE: u64 = 512 * 1024 * 1024;

/// The settings of a [`Client`](crate::Client).
///
/// A key and a base address are required; the rest has defaults.
#[derive(Clone)]
#[must_use]
pub struct ClientBuilder {
    api_key: Option<String>,
    base_url: Option<String>,
    regional_base_url: Option<String>,
    model_prefix: Option<String>,
    webhook: WebhookDefaults,
    polling_hosts: Vec<String>,
    delivery_hosts: Vec<String>,
    allow_http: bool,
    validation: bool,
    connect_timeout: Duration,
    silence_timeout: Duration,
    max_concurrent_polls: usize,
    max_active_tasks: Option<usize>,
    max_picture_bytes: u64,
    random_seed: Option<u64>,
    clock: WallClock,
    customize: Option<Customize>,
    journal: Option<Arc<dyn Journal>>,
}

impl Default for ClientBuilder {
    fn default() -> Self {
        Self {
            api_key: None,
            base_url: None,
            regional_base_url: None,
            model_prefix: None,
            webhook: WebhookDefaults::default(),
            polling_hosts: Vec::new(),
            delivery_hosts: Vec::new(),
            allow_http: false,
            validation: true,
            connect_timeout: Duration::from_secs(10),
            silence_timeout: Duration::from_secs(60),
            max_concurrent_polls: 64,
            max_active_tasks: None,
            max_picture_bytes: DEFAULT_MAX_PICTURE,
            random_seed: None,
            clock: WallClock::default(),
            customize: None,
            journal: None,
        }
    }
}

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
        self.webhook.url = Some(url.into());
        self
    }

    /// The secret with which the service signs its webhooks, for requests that have a webhook and
    /// set no `webhook_secret` of their own.
    pub fn webhook_secret(mut self, secret: impl Into<WebhookSecret>) -> Self {
        self.webhook.secret = Some(secret.into());
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

    /// Whether requests are checked against the contract before they are sent; on by default. Turn
    /// it off on the day that the service is looser than the document: the service's own checks
    /// still hold.
    pub fn validation(mut self, on: bool) -> Self {
        self.validation = on;
        self
    }

    /// How long a connection may take to be established; 10 seconds by default.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// How long the service may be silent, in the middle of an upload, an answer or a download; 60
    /// seconds by default. There is no limit on the whole, which would cut a large upload.
    pub fn silence_timeout(mut self, timeout: Duration) -> Self {
        self.silence_timeout = timeout;
        self
    }

    /// How many polls may be under way at once, over all tasks of the client; 64 by default, at
    /// least 1. More tasks than that can wait: their polls take turns.
    pub fn max_concurrent_polls(mut self, polls: usize) -> Self {
        self.max_concurrent_polls = polls;
        self
    }

    /// How many tasks may be active at once; no cap by default, at least 1. A task holds its slot
    /// from its submission until a poll of this client or its clones sees its final status, whoever
    /// polls; dropping the [`Task`](crate::Task) does not end it.
    /// [`Client::submit`](crate::Client::submit) waits for a free slot, and meanwhile polls the
    /// tasks that nobody waits for. [`Client::try_submit`](crate::Client::try_submit) does not
    /// wait.
    pub fn max_active_tasks(mut self, tasks: usize) -> Self {
        self.max_active_tasks = Some(tasks);
        self
    }

    /// The largest picture that is fetched, in bytes; 512 MiB by default. A download that grows
    /// beyond it is given up with an error of kind [`Delivery`](ErrorKind::Delivery), and the task
    /// is still `Ready`.
    pub fn max_picture_bytes(mut self, bytes: u64) -> Self {
        self.max_picture_bytes = bytes;
        self
    }

    /// Seeds the random spread of delays, so that a test sees the same ones each time. From the
    /// system by default.
    pub fn random_seed(mut self, seed: u64) -> Self {
        self.random_seed = Some(seed);
        self
    }

    /// Changes how the HTTP clients are set up: TLS, proxies, headers. It is called for each of
    /// them, after the SDK's defaults, and before its rules for redirects, retries and addresses,
    /// which it can't undo.
    ///
    /// A program without a TLS feature of this crate can bring TLS of its own this way.
    pub fn http_client(
        mut self,
        customize: impl Fn(reqwest::ClientBuilder) -> reqwest::ClientBuilder + Send + Sync + 'static,
    ) -> Self {
        self.customize = Some(Arc::new(customize));
        self
    }

    /// Where the client keeps what it submitted, so that a task outlives its process; nowhere by
    /// default. See [`journal`](crate::journal).
    pub fn journal(mut self, journal: impl Journal + 'static) -> Self {
        self.journal = Some(Arc::new(journal));
        self
    }

    /// Replaces the system's wall clock, so that a test decides what time of day it is. Only
    /// `expires_at` of a picture and dates in `Retry-After` depend on it; delays and deadlines run
    /// on tokio's clock.
    pub fn wall_clock(mut self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = WallClock::new(now);
        self
    }
}

/// A setting is missing or can't be used.
fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Settings, message)
}

/// The key prints as `[redacted]`.
impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let printable =
            |hosts: &[String]| hosts.iter().map(|host| hosts::printable(host)).collect::<Vec<_>>();
        f.debug_struct("ClientBuilder")
            .field("api_key", &self.api_key.as_ref().map(|_| crate::values::REDACTED))
            .field("base_url", &self.base_url.as_deref().map(crate::Address::from))
            .field(
                "regional_base_url",
                &self.regional_base_url.as_deref().map(crate::Address::from),
            )
            .field("model_prefix", &self.model_prefix)
            .field("webhook", &self.webhook)
            .field("polling_hosts", &printable(&self.polling_hosts))
            .field("delivery_hosts", &printable(&self.delivery_hosts))
            .field("allow_http", &self.allow_http)
            .finish_non_exhaustive()
    }
}
