//! The HTTP clients of a [`Client`](crate::Client): with and without the system's proxies. One is
//! chosen per URL.

use std::sync::Arc;

use hyper_util::client::proxy::matcher::Matcher;
use url::Url;

use super::{hosts::is_loopback, resolver::PublicAddresses};

#[derive(Debug, Clone)]
pub(crate) struct Routes {
    /// Without a proxy, because no proxy can reach this machine's loopback.
    direct: reqwest::Client,
    /// Through the system's proxies, where it has any for a host.
    system: reqwest::Client,
    /// Without a proxy, to public addresses only.
    public: reqwest::Client,
    proxies: Arc<Matcher>,
}

impl Routes {
    /// Builds all clients from the same settings. The proxies are those of the environment at this
    /// moment.
    pub(crate) fn new(settings: impl Fn() -> reqwest::ClientBuilder) -> reqwest::Result<Self> {
        Ok(Self {
            direct: settings().no_proxy().build()?,
            system: settings().build()?,
            public: settings().no_proxy().dns_resolver(PublicAddresses).build()?,
            proxies: Arc::new(Matcher::from_system()),
        })
    }

    /// The client for a host that the settings name, or that may receive the key.
    pub(crate) fn for_url(&self, url: &Url) -> &reqwest::Client {
        if is_loopback(url) { &self.direct } else { &self.system }
    }

    /// The client for a host that only the service named. A proxy resolves the name itself, and its
    /// own address is often a private one, so only requests without a proxy are restricted to
    /// public addresses.
    pub(crate) fn for_foreign_url(&self, url: &Url) -> &reqwest::Client {
        let proxied = url.as_str().parse().is_ok_and(|uri| self.proxies.intercept(&uri).is_some());
        if proxied { &self.system } else { &self.public }
    }
}
