//! The HTTP clients: with a proxy, without a proxy, or restricted to public addresses.

use std::{sync::Arc, time::Duration};

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{ClientBuilder, Proxy, header::HeaderValue, redirect};
use url::Url;

use super::{hosts::is_loopback, resolver::PublicAddresses};

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
pub(crate) struct HttpSettings {
    pub(crate) tls: Customize,
    pub(crate) connect_timeout: Duration,
    pub(crate) user_agent: HeaderValue,
    /// Replaces the proxies from the environment.
    pub(crate) proxy: Option<(Proxy, Url)>,
    pub(crate) customize: Option<Customize>,
}

impl HttpSettings {
    fn builder(&self) -> ClientBuilder {
        let builder = reqwest::Client::builder()
            .user_agent(self.user_agent.clone())
            .connect_timeout(self.connect_timeout)
            .http2_initial_stream_window_size(STREAM_WINDOW)
            .http2_initial_connection_window_size(CONNECTION_WINDOW)
            .http2_keep_alive_interval(PING_EVERY)
            .http2_keep_alive_timeout(PING_LIMIT)
            .http2_keep_alive_while_idle(true)
            .pool_max_idle_per_host(64);
        let customize = [&self.tls].into_iter().chain(&self.customize);
        let builder = customize.fold(builder, |builder, customize| customize(builder));
        let builder = match &self.proxy {
            Some((proxy, _)) => builder.no_proxy().proxy(proxy.clone()),
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

/// The HTTP clients, of which the URL selects one.
pub(crate) struct HttpClients {
    /// Without a proxy, because no proxy can reach the local loopback interface.
    direct: reqwest::Client,
    /// Uses a proxy if one is configured for the host.
    proxied: reqwest::Client,
    /// Without a proxy, restricted to public addresses.
    public: reqwest::Client,
    proxies: Matcher,
}

impl HttpClients {
    /// Builds all clients from the same settings. Uses the proxies that the environment defines
    /// now, if the settings have none.
    pub(crate) fn new(settings: &HttpSettings) -> reqwest::Result<Self> {
        let proxies = match &settings.proxy {
            Some((_, url)) => Matcher::builder().all(url.as_str()).build(),
            None => Matcher::from_system(),
        };
        Ok(Self {
            direct: settings.builder().no_proxy().build()?,
            proxied: settings.builder().build()?,
            public: settings.builder().no_proxy().dns_resolver(PublicAddresses).build()?,
            proxies,
        })
    }

    /// Returns the client for a URL. A host is trusted if the settings name it, or if it may
    /// receive the key. Only requests without a proxy are restricted to public addresses: a proxy
    /// resolves the name itself, and often has a private address.
    pub(crate) fn client(&self, url: &Url, is_trusted: bool) -> &reqwest::Client {
        let is_proxied =
            || url.as_str().parse().is_ok_and(|uri| self.proxies.intercept(&uri).is_some());
        if is_trusted && is_loopback(url) {
            &self.direct
        } else if is_trusted || is_proxied() {
            &self.proxied
        } else {
            &self.public
        }
    }
}
