//! The HTTP clients of a [`Client`](crate::Client): with and without proxies. One is chosen for each
//! URL.

use std::sync::Arc;

use hyper_util::client::proxy::matcher::Matcher;
use url::Url;

use super::{hosts::is_loopback, resolver::PublicAddresses};

#[derive(Debug, Clone)]
pub(crate) struct Routes {
    /// Without a proxy, because no proxy can reach this machine's loopback.
    direct: reqwest::Client,
    /// Through the proxies, if there is one for the host.
    proxied: reqwest::Client,
    /// Without a proxy, to public addresses only.
    public: reqwest::Client,
    proxies: Arc<Matcher>,
}

impl Routes {
    /// Builds all clients from the same settings. The proxies are those of the environment at this
    /// moment, or the one at `proxy`.
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

    /// The client for a host that the settings name, or that may receive the key.
    pub(crate) fn for_url(&self, url: &Url) -> &reqwest::Client {
        if is_loopback(url) { &self.direct } else { &self.proxied }
    }

    /// The client for a host that only the service named. A proxy resolves the name itself, and its
    /// own address is often a private one, so only requests without a proxy are restricted to
    /// public addresses.
    pub(crate) fn for_foreign_url(&self, url: &Url) -> &reqwest::Client {
        let proxied = url.as_str().parse().is_ok_and(|uri| self.proxies.intercept(&uri).is_some());
        if proxied { &self.proxied } else { &self.public }
    }
}
