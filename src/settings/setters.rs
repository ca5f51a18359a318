//! The setters of the builder.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use super::ClientBuilder;
use crate::{
    Address, Durations, RetryPolicy, Secret,
    journal::Journal,
    transport::{middleware::Middleware, recording::Recording},
    values::{NO_LIMIT, WallClock},
};

/// The service: its key, its base URLs, and the hosts that it may refer to.
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
    pub fn webhook_secret(mut self, secret: impl Into<Secret>) -> Self {
        self.tasks.webhook.secret = Some(secret.into());
        self
    }

    /// Allows the client to send the key to a polling host to which it would not send the key
    /// otherwise.
    ///
    /// Write a host such as `polls.example.net`, optionally with a port: `polls.example.net:8443`.
    /// The key is only sent over https, to the local machine, or with
    /// [`allow_http`](Self::allow_http).
    pub fn allow_polling_host(mut self, host: impl Into<String>) -> Self {
        self.polling_hosts.push(host.into());
        self
    }

    /// Allows the client to download pictures from a host that it would refuse otherwise.
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

/// Submissions, polls and downloads: validation, limits and deadlines.
impl ClientBuilder {
    /// Sets whether requests are validated against the contract before they are sent. The default
    /// is `true`.
    ///
    /// Turn it off if the service accepts more than the contract allows. The service still performs
    /// its own validation.
    pub fn validation(mut self, on: bool) -> Self {
        self.tasks.validation = on;
        self
    }

    /// Sets the maximum number of concurrent polls over all tasks of the client. The default is 64;
    /// the minimum is 1.
    ///
    /// More tasks can wait at the same time, and their polls take turns.
    pub fn max_concurrent_polls(mut self, polls: usize) -> Self {
        self.tasks.max_concurrent_polls = polls;
        self
    }

    /// Sets the maximum number of active tasks; the minimum is 1. By default, the client finds out
    /// how many tasks the service allows.
    ///
    /// A task holds a slot from its submission until any poll by this client or its clones returns
    /// a final status. Dropping the [`Task`](crate::Task) does not free its slot.
    /// [`Client::submit`](crate::Client::submit) waits for a free slot, and polls the tasks that
    /// have no active wait in the meantime.
    /// [`SubmitOptions::wait_for_slot`](crate::SubmitOptions::wait_for_slot) turns waiting off.
    ///
    /// Without this setting, the client starts with a limit of 8 tasks. It doubles the limit when
    /// the service has accepted that many submissions, or when a submission has waited for a second
    /// in which no submission was accepted and no task ended. If the service refuses a submission
    /// because of too many requests (429) while tasks are active, the number of active tasks
    /// becomes the limit:
    ///
    /// - The client sends the refused submission again when a task has ended. If the submission has
    ///   no deadline, this counts as an attempt of the [`RetryPolicy`](crate::RetryPolicy), and the
    ///   submission fails if the service asks for a longer delay than the policy allows.
    /// - Other submissions wait for a slot, except those with waiting turned off, which the client
    ///   sends at once.
    /// - After some tasks have ended, the client raises the limit, to find out whether the service
    ///   allows more tasks. If the service refuses, twice as many tasks must end before the client
    ///   raises the limit again.
    ///
    /// If no task of the client is active, the client retries a refused submission after a delay.
    ///
    /// After an outage of the service, the limit starts at 8 again. With this setting, it grows to
    /// `tasks`.
    pub fn max_active(mut self, tasks: usize) -> Self {
        self.tasks.max_active = Some(tasks);
        self
    }

    /// Sets the maximum size of a picture in bytes. The default is 512 MiB.
    ///
    /// A larger download fails with an error of kind [`Download`](crate::ErrorKind::Download). The
    /// task remains `Ready`. For a compressed download, the size is that of the decompressed
    /// picture.
    pub fn max_picture_bytes(mut self, bytes: u64) -> Self {
        self.downloads.max_picture_bytes = bytes;
        self
    }

    /// Sets the journal that records submissions, so that a crash does not lose billed tasks. There
    /// is no journal by default. See [`journal`](crate::journal). If the program uses the journal
    /// itself, it keeps a clone.
    pub fn journal(mut self, journal: impl Journal + 'static) -> Self {
        self.tasks.journal = Some(Arc::new(journal));
        self
    }

    /// Returns whether a journal is set. Setting another journal would replace it.
    #[doc(hidden)]
    pub fn has_journal(&self) -> bool {
        self.tasks.journal.is_some()
    }

    /// Sets the durations of tasks that an earlier client has seen, as
    /// [`Client::durations`](crate::Client::durations) returned them. Without them, the client
    /// polls the first task of an operation more often, and finds its picture later.
    pub fn durations(mut self, durations: Durations) -> Self {
        self.tasks.durations = durations;
        self
    }

    /// Sets the maximum duration of submissions without their own
    /// [`SubmitOptions::deadline`](crate::SubmitOptions::deadline), which documents what happens at
    /// the deadline. There is no deadline by default.
    pub fn submit_deadline(mut self, deadline: Duration) -> Self {
        self.tasks.submit_deadline = Some(deadline.min(NO_LIMIT));
        self
    }

    /// Sets the maximum duration of one poll. The default is 30 seconds.
    ///
    /// A poll that takes longer fails, and the client sends the next poll. The deadline of the
    /// whole wait is part of [`WaitOptions`](crate::WaitOptions).
    pub fn poll_deadline(mut self, deadline: Duration) -> Self {
        self.tasks.poll_deadline = deadline.min(NO_LIMIT);
        self
    }

    /// Sets the maximum duration of a download with all retries. The default is one hour.
    pub fn download_deadline(mut self, deadline: Duration) -> Self {
        self.downloads.deadline = deadline.min(NO_LIMIT);
        self
    }
}

/// The transport: HTTP clients, proxies, headers, retries and middlewares.
impl ClientBuilder {
    /// Sets the maximum time to establish a connection. The default is 10 seconds.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = Some(timeout.min(NO_LIMIT));
        self
    }

    /// Sets the maximum time without data during an upload, a response or a download. The default
    /// is 60 seconds.
    ///
    /// There is no limit on the total time, because it would make large uploads fail.
    pub fn silence_timeout(mut self, timeout: Duration) -> Self {
        self.silence_timeout = Some(timeout.min(NO_LIMIT));
        self
    }

    /// Sets the retry policy.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = policy;
        self
    }

    /// Sets the `http://` or `https://` proxy for all requests, instead of the proxies from the
    /// environment.
    ///
    /// The URL may contain a user and a password. Requests to the loopback interface do not use the
    /// proxy.
    pub fn proxy(mut self, url: impl Into<Address>) -> Self {
        self.proxy = Some(url.into());
        self
    }

    /// Adds a header to every submission and poll, for example for a gateway in front of the
    /// service.
    ///
    /// Requests to delivery URLs do not contain the header. The client treats its value as a
    /// secret, like the key.
    ///
    /// [`build`](Self::build) refuses names that the SDK or HTTP itself sets, such as `x-key`,
    /// `content-type` and `host`.
    pub fn default_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.default_headers.push((name.into(), Secret::from(value)));
        self
    }

    /// Sets the text after `imagekiln/VERSION` in the `User-Agent` header, for example the name and
    /// version of the program: `my-program/1.2`.
    pub fn user_agent_suffix(mut self, suffix: impl Into<String>) -> Self {
        self.user_agent_suffix = Some(suffix.into());
        self
    }

    /// Adds a [`Middleware`], which runs before and after every HTTP exchange, and before retries.
    ///
    /// Middlewares are called in the order in which they were added; `after` is called in reverse
    /// order.
    pub fn middleware(mut self, middleware: impl Middleware + 'static) -> Self {
        self.middlewares.push(Arc::new(middleware));
        self
    }

    /// Sets the function that receives a redacted copy of each submission and each poll, for
    /// example to store it. There is none by default, and another call replaces the function.
    ///
    /// The client calls the function after the response has arrived, on the task that runs the
    /// exchange, so it must not block for long. An exchange without a response and the download of
    /// a picture are not recorded. A panic is logged, and does not affect the exchange.
    pub fn recorder(mut self, recorder: impl Fn(Recording) + Send + Sync + 'static) -> Self {
        self.recorder = Some(Arc::new(recorder));
        self
    }

    /// Customizes the HTTP clients, for example their TLS settings.
    ///
    /// The function is called for each HTTP client after the defaults of the SDK. The rules of the
    /// SDK for redirects, retries and addresses are applied afterwards and cannot be changed.
    ///
    /// A program that enables no TLS feature of this crate can configure its own TLS here.
    pub fn http_client<F>(mut self, customize: F) -> Self
    where
        F: Fn(reqwest::ClientBuilder) -> reqwest::ClientBuilder + Send + Sync + 'static,
    {
        self.customize = Some(Arc::new(customize));
        self
    }

    /// Seeds the jitter of delays, for reproducible tests. By default, the seed comes from the
    /// system.
    pub fn random_seed(mut self, seed: u64) -> Self {
        self.random_seed = Some(seed);
        self
    }

    /// Replaces the system's wall clock, for tests.
    ///
    /// This clock determines the times in records and references, the age of resumed tasks,
    /// `expires_at` of a picture, and the delay for a date in `Retry-After`. Delays and deadlines
    /// use tokio's clock.
    pub fn wall_clock(mut self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = WallClock::new(now);
        self
    }
}
