//! How the HTTP clients are set up.

use std::{sync::Arc, time::Duration};

use reqwest::{ClientBuilder, Proxy, redirect};

use super::tls::Tls;

/// Flow-control windows of HTTP/2: with the default of 64 KiB a large transfer waits for the other
/// side at every step.
const STREAM_WINDOW: u32 = 4 * 1024 * 1024;
const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;

/// How often an HTTP/2 connection is asked for a sign of life, and how long it may take to give
/// one. A dead one is closed, so that nothing more is sent into it.
const PING_EVERY: Duration = Duration::from_secs(5);
const PING_LIMIT: Duration = Duration::from_secs(5);

/// What a program changes about the HTTP clients.
pub(crate) type Customize = Arc<dyn Fn(ClientBuilder) -> ClientBuilder + Send + Sync>;

/// What the HTTP clients of one [`Client`](crate::Client) have in common.
#[derive(Clone)]
pub(crate) struct HttpSettings {
    pub(crate) tls: Tls,
    pub(crate) connect_timeout: Duration,
    pub(crate) user_agent: String,
    /// Replaces the proxies of the environment.
    pub(crate) proxy: Option<Proxy>,
    pub(crate) customize: Option<Customize>,
}

impl HttpSettings {
    pub(crate) fn builder(&self) -> ClientBuilder {
        let builder = reqwest::Client::builder()
            .user_agent(&self.user_agent)
            .connect_timeout(self.connect_timeout)
            .http2_initial_stream_window_size(STREAM_WINDOW)
            .http2_initial_connection_window_size(CONNECTION_WINDOW)
            .http2_keep_alive_interval(PING_EVERY)
            .http2_keep_alive_timeout(PING_LIMIT)
            .http2_keep_alive_while_idle(true)
            .pool_max_idle_per_host(64);
        let builder = self.tls.configure(builder);
        let builder = match &self.customize {
            Some(customize) => customize(builder),
            None => builder,
        };
        let builder = match &self.proxy {
            Some(proxy) => builder.no_proxy().proxy(proxy.clone()),
            None => builder,
        };
        // The SDK's own rules come last, so that nothing undoes them.
        builder
            // A redirect would take the key along. Those of deliveries are followed hop by hop, in
            // `delivery`.
            .redirect(redirect::Policy::none())
            // Whether a request may be repeated is decided in `task` and `picture`, and nowhere
            // else.
            .retry(reqwest::retry::never())
    }
}
