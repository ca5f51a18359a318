//! Settings of the transport: HTTP clients, proxies, headers, retries and middlewares.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use super::{ClientBuilder, check::bounded};
use crate::{
    Address, RetryPolicy, Secret,
    transport::{clock::WallClock, middleware::Middleware, recording::Recorder},
};

impl ClientBuilder {
    /// Sets the maximum time to establish a connection. The default is 10 seconds.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = Some(bounded(timeout));
        self
    }

    /// Sets the maximum time without data during an upload, a response or a download. The default
    /// is 60 seconds.
    ///
    /// There is no limit on the total time, which would fail large uploads.
    pub fn silence_timeout(mut self, timeout: Duration) -> Self {
        self.silence_timeout = Some(bounded(timeout));
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
    /// Requests to delivery URLs do not have it. Its value is treated as a secret, like the key.
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

    /// Sets the [`Recorder`], which receives a redacted copy of each submission and each poll.
    ///
    /// There is no recorder by default. Another call replaces the recorder.
    pub fn recorder(mut self, recorder: impl Recorder + 'static) -> Self {
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
    /// It affects only `expires_at` of a picture and dates in `Retry-After`. Delays and deadlines
    /// use tokio's clock.
    pub fn wall_clock(mut self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = WallClock::new(now);
        self
    }
}
