//! Settings of the transport: HTTP clients, proxies, headers, retries, hooks.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use super::ClientBuilder;
use crate::{
    Address, RetryPolicy,
    transport::{clock::WallClock, middleware::Middleware},
};

impl ClientBuilder {
    /// How long a connection may take to be established; 10 seconds by default.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.transport.connect_timeout = timeout;
        self
    }

    /// How long the service may be silent, in the middle of an upload, a response or a download; 60
    /// seconds by default. There is no limit on the whole, which would cut a large upload.
    pub fn silence_timeout(mut self, timeout: Duration) -> Self {
        self.transport.silence_timeout = timeout;
        self
    }

    /// How often the client tries, and how long the service can make it wait.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.transport.retry = policy;
        self
    }

    /// The proxy for all requests, `http://` or `https://`, instead of those that the environment
    /// names. Its URL can have a user and a password. Hosts on this machine's loopback are reached
    /// without it.
    pub fn proxy(mut self, url: impl Into<Address>) -> Self {
        self.transport.proxy = Some(url.into());
        self
    }

    /// A header for every submission and every poll, for instance for a gateway in front of the
    /// service. Requests to delivery URLs do not have it. It is treated as a secret, like the key.
    ///
    /// [`build`](Self::build) refuses names that the SDK or HTTP itself sets, such as `x-key`,
    /// `content-type` and `host`.
    pub fn default_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.transport.default_headers.push((name.into(), value.into()));
        self
    }

    /// What follows `imagekiln/VERSION` in the `User-Agent` of every request, for instance the name
    /// and version of your program: `my-program/1.2`.
    pub fn user_agent_suffix(mut self, suffix: impl Into<String>) -> Self {
        self.transport.user_agent_suffix = Some(suffix.into());
        self
    }

    /// Code around every HTTP exchange, to add headers or to watch what happens: see
    /// [`Middleware`]. Each call adds one; the first is the outermost.
    pub fn middleware(mut self, middleware: impl Middleware + 'static) -> Self {
        self.transport.middlewares.push(Arc::new(middleware));
        self
    }

    /// Changes how the HTTP clients are set up, for instance their TLS. It is called for each of
    /// them, after the SDK's defaults, and before its rules for redirects, retries and addresses,
    /// which it can't undo.
    ///
    /// A program without a TLS feature of this crate can bring TLS of its own this way.
    pub fn http_client(
        mut self,
        customize: impl Fn(reqwest::ClientBuilder) -> reqwest::ClientBuilder + Send + Sync + 'static,
    ) -> Self {
        self.transport.customize = Some(Arc::new(customize));
        self
    }

    /// Seeds the random spread of delays, so that a test sees the same ones each time. From the
    /// system by default.
    pub fn random_seed(mut self, seed: u64) -> Self {
        self.transport.random_seed = Some(seed);
        self
    }

    /// Replaces the system's wall clock, so that a test decides what time of day it is. Only
    /// `expires_at` of a picture and dates in `Retry-After` depend on it; delays and deadlines run
    /// on tokio's clock.
    pub fn wall_clock(mut self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.transport.clock = WallClock::new(now);
        self
    }
}
