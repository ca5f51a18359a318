//! Configures the HTTP clients.

use std::{sync::Arc, time::Duration};

use reqwest::{ClientBuilder, Proxy, header::HeaderValue, redirect};

use super::tls::Tls;

/// HTTP/2 flow-control windows. With the default of 64 KiB, large transfers wait for window
/// updates.
const STREAM_WINDOW: u32 = 4 * 1024 * 1024;
const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;

/// The interval and the timeout of HTTP/2 pings. A connection without a ping response is closed.
const PING_EVERY: Duration = Duration::from_secs(5);
const PING_LIMIT: Duration = Duration::from_secs(5);

/// Customizes the HTTP clients.
pub(crate) type Customize = Arc<dyn Fn(ClientBuilder) -> ClientBuilder + Send + Sync>;

/// The settings that all HTTP clients of a [`Client`](crate::Client) share.
#[derive(Clone)]
pub(crate) struct HttpSettings {
    pub(crate) tls: Tls,
    pub(crate) connect_timeout: Duration,
    pub(crate) user_agent: HeaderValue,
    /// Replaces the proxies from the environment.
    pub(crate) proxy: Option<Proxy>,
    pub(crate) customize: Option<Customize>,
}

impl HttpSettings {
    pub(crate) fn builder(&self) -> ClientBuilder {
        let builder = reqwest::Client::builder()
            .user_agent(self.user_agent.clone())
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
        // Set last, so that `customize` cannot override these.
        builder
            // A redirect would forward the key. `download` follows redirects itself.
            .redirect(redirect::Policy::none())
            // Only `task` and `picture` decide whether a request may be retried.
            .retry(reqwest::retry::never())
    }
}
