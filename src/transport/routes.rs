//! Chooses an HTTP client for each URL: with a proxy, without a proxy, or restricted to public
//! addresses.

use std::sync::Arc;

use hyper_util::client::proxy::matcher::Matcher;
use url::Url;

use super::{hosts::is_loopback, resolver::PublicAddresses};

#[derive(Debug, Clone)]
pub(crate) struct Routes {
    /// Without a proxy, because no proxy can reach the local loopback interface.
    direct: reqwest::Client,
    /// Uses a proxy if one is configured for the host.
    proxied: reqwest::Client,
    /// Without a proxy, restricted to public addresses.
    public: reqwest::Client,
    proxies: Arc<Matcher>,
}

impl Routes {
    /// Builds all clients from the same settings. Uses the proxies that the environment defines
    /// now, or the one at `proxy`.
    pub(crate) fn new(
        settings: impl Fn() -> reqwest::ClientBuilder,
        proxy: Option<&Url>,
    ) -> reqwest::Result<Self> {
        let proxies = match proxy {
            Some(url) => Matcher::builder().all(url.as_str()).build(),
            None => Matcher::from_system(),
        };
        Ok(Self {
            direct: settings().no_proxy().build()?,
            proxied: settings().build()?,
            public: settings().no_proxy().dns_resolver(PublicAddresses).build()?,
            proxies: Arc::new(proxies),
        })
    }

    /// Returns the client for a host that the settings name, or that may receive the key.
    pub(crate) fn for_url(&self, url: &Url) -> &reqwest::Client {
        if is_loopback(url) { &self.direct } else { &self.proxied }
    }

    /// Returns the client for a host that only the service named. Only requests without a proxy are
    /// restricted to public addresses: a proxy resolves the name itself, and often has a private
    /// address.
    pub(crate) fn for_untrusted_url(&self, url: &Url) -> &reqwest::Client {
        let proxied = url.as_str().parse().is_ok_and(|uri| self.proxies.intercept(&uri).is_some());
        if proxied { &self.proxied } else { &self.public }
    }
}
