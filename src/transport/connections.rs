//! Manages the connections of a client with their TLS backend, and replaces them when a host stops
//! responding.
//!
//! Servers close idle connections, after two minutes or at once. A poll or a download that is
//! written into the closing is repeated, but nobody knows whether such a submission was received.
//! So each submission gets a new connection, except over HTTP/2, where the server says which
//! requests it has received.
//!
//! The HTTP client keeps a connection as long as it appears to work, and cannot be told to close
//! it. An HTTP/2 connection that accepts requests without responding would block all requests to
//! its host. So when an exchange with a host stalls, the host gets a new HTTP client with new
//! connections, as often as that happens.

use std::{
    collections::{HashMap, HashSet},
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{
    ClientBuilder, Proxy, Version,
    dns::{Addrs, Name, Resolve, Resolving},
    header::HeaderValue,
    redirect,
};
#[cfg(all(feature = "rustls", not(feature = "native-tls")))]
use rustls::{
    ClientConfig, RootCertStore,
    crypto::{CryptoProvider, aws_lc_rs},
};
#[cfg(all(feature = "rustls", not(feature = "native-tls")))]
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::time::{self, Instant};
use url::Url;

use super::hosts::{UrlRefusal, is_loopback, reason_not_public};
use crate::values::Mutex;

/// After this much silence, other requests to the host use a new connection. The silent exchange
/// itself continues.
const STALL_LIMIT: Duration = Duration::from_secs(10);

/// The maximum number of hosts with their own client. A service uses few hosts; the limit bounds
/// memory if a service invents host names.
const MOST_HOSTS: usize = 32;

/// Provides the HTTP client for a URL.
pub(crate) struct Connections {
    stall_limit: Duration,
    settings: HttpSettings,
    shared: Arc<HttpClients>,
    /// The clients of hosts that fell silent.
    renewed: Mutex<HashMap<String, Arc<HttpClients>>>,
    /// The hosts whose last response to a submission was HTTP/2.
    multiplexed: Mutex<HashSet<String>>,
}

/// The HTTP client for one exchange with a host, and the clients that it belongs to.
pub(crate) struct Connection {
    pub(crate) http: reqwest::Client,
    clients: Arc<HttpClients>,
    host: String,
}

impl Connections {
    /// `silence` is the configured silence limit.
    pub(crate) fn new(silence: Duration, settings: HttpSettings) -> reqwest::Result<Self> {
        let shared = Arc::new(HttpClients::new(&settings)?);
        let stall_limit = STALL_LIMIT.min(silence);
        let (renewed, multiplexed) = Default::default();
        Ok(Self { stall_limit, settings, shared, renewed, multiplexed })
    }

    /// Returns the client for a host. It is trusted if the settings name it, or if it may receive
    /// the key, and not if only the service named it.
    pub(crate) fn to(&self, url: &Url, is_trusted: bool) -> Connection {
        let host = host_of(url);
        let clients = Arc::clone(self.renewed.lock().get(&host).unwrap_or(&self.shared));
        Connection { http: clients.client(url, is_trusted).clone(), clients, host }
    }

    /// Returns the client for a submission to a base URL.
    pub(crate) fn to_submit(&self, url: &Url) -> Connection {
        let connection = self.to(url, true);
        if self.multiplexed.lock().contains(&connection.host) {
            return connection;
        }
        Connection { http: connection.clients.once(url).clone(), ..connection }
    }

    /// Notes the version of the response to a submission.
    pub(crate) fn responded(&self, url: &Url, version: Version) {
        let (host, mut multiplexed) = (host_of(url), self.multiplexed.lock());
        if version == Version::HTTP_2 {
            multiplexed.insert(host);
        } else {
            multiplexed.remove(&host);
        }
    }

    /// Stops using the current connections to the host for new exchanges. Exchanges in progress
    /// continue.
    pub(crate) fn abandon(&self, Connection { clients, host, .. }: &Connection) {
        let mut renewed = self.renewed.lock();
        // Another stalled exchange on the same connection may have replaced it already.
        if !Arc::ptr_eq(renewed.get(host).unwrap_or(&self.shared), clients) {
            return;
        }
        let Ok(clients) = HttpClients::new(&self.settings) else { return };
        if renewed.len() >= MOST_HOSTS && !renewed.contains_key(host) {
            renewed.clear();
        }
        tracing::debug!(host, "host is silent; new requests use a new connection");
        renewed.insert(host.clone(), Arc::new(clients));
    }

    /// Returns the outcome of `exchange`, or `None` if there is none by the time that `until`
    /// returns. `quiet_since` returns when the exchange last made progress.
    pub(crate) async fn watch<T>(
        &self,
        connection: &Connection,
        quiet_since: impl Fn() -> Instant,
        until: impl Fn() -> Instant,
        exchange: impl Future<Output = T>,
    ) -> Option<T> {
        let mut exchange = std::pin::pin!(exchange);
        let mut is_stalled = false;
        loop {
            let (since, end) = (quiet_since(), until());
            let wake = if is_stalled { end } else { end.min(since + self.stall_limit) };
            match time::timeout_at(wake, exchange.as_mut()).await {
                Ok(outcome) => return Some(outcome),
                Err(_) if quiet_since() > since => {}
                Err(_) => {
                    // A short deadline says nothing about the connection.
                    if since.elapsed() >= self.stall_limit {
                        self.abandon(connection);
                        is_stalled = true;
                    }
                    if Instant::now() >= end {
                        return None;
                    }
                }
            }
        }
    }
}

fn host_of(url: &Url) -> String {
    let port = url.port_or_known_default().unwrap_or_default();
    format!("{}:{port}", url.host_str().unwrap_or_default())
}

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

/// Whether this build includes a TLS backend.
pub(crate) const HAS_TLS: bool = cfg!(any(feature = "rustls", feature = "native-tls"));

// Cargo unifies features, so a feature of reqwest that this crate enables is enabled for the whole
// program. Each backend enables everything it needs, so that `reqwest::Client::new()` elsewhere in
// the program works as it does without this crate. No process-wide state is changed.

/// Returns what sets TLS up in all HTTP clients of one [`Client`](crate::Client): the default of
/// reqwest (rustls with aws-lc-rs), or the native TLS library of the operating system. They share
/// it, because loading the system certificates is slow.
///
/// Fails if the system has no certificates and a base URL uses https. If all base URLs use http
/// (for example a simulator in a minimal container), it succeeds with an empty certificate store,
/// and https delivery URLs will fail.
#[cfg(all(feature = "rustls", not(feature = "native-tls")))]
pub(crate) fn tls_backend(base_is_https: bool) -> Result<Customize, String> {
    // Use the provider that the program installed, if any.
    let provider = CryptoProvider::get_default().cloned();
    let provider = provider.unwrap_or_else(|| Arc::new(aws_lc_rs::default_provider()));
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = match builder.clone().with_platform_verifier() {
        Ok(verified) => verified,
        Err(error) if base_is_https => return Err(error.to_string()),
        Err(_) => builder.with_root_certificates(RootCertStore::empty()),
    };
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(move |builder| builder.tls_backend_preconfigured(config.clone())))
}

#[cfg(not(all(feature = "rustls", not(feature = "native-tls"))))]
pub(crate) fn tls_backend(_base_is_https: bool) -> Result<Customize, String> {
    Ok(Arc::new(|builder| {
        #[cfg(feature = "native-tls")]
        let builder = builder.tls_backend_native();
        builder
    }))
}

/// The HTTP clients, of which the URL selects one.
struct HttpClients {
    /// Without a proxy, because no proxy can reach the local loopback interface.
    direct: reqwest::Client,
    /// Uses a proxy if one is configured for the host.
    proxied: reqwest::Client,
    /// Without a proxy, restricted to public addresses.
    public: reqwest::Client,
    /// Like the first two, with a new connection for each request.
    direct_once: reqwest::Client,
    proxied_once: reqwest::Client,
    proxies: Matcher,
}

impl HttpClients {
    /// Builds all clients from the same settings. Uses the proxies that the environment defines
    /// now, if the settings have none.
    fn new(settings: &HttpSettings) -> reqwest::Result<Self> {
        let proxies = match &settings.proxy {
            Some((_, url)) => Matcher::builder().all(url.as_str()).build(),
            None => Matcher::from_system(),
        };
        let once = || settings.builder().pool_max_idle_per_host(0);
        Ok(Self {
            direct_once: once().no_proxy().build()?,
            proxied_once: once().build()?,
            direct: settings.builder().no_proxy().build()?,
            proxied: settings.builder().build()?,
            public: settings.builder().no_proxy().dns_resolver(PublicAddresses).build()?,
            proxies,
        })
    }

    /// Returns the client with a new connection for a request to a trusted host.
    fn once(&self, url: &Url) -> &reqwest::Client {
        if is_loopback(url) { &self.direct_once } else { &self.proxied_once }
    }

    /// Returns the client for a URL. A host is trusted if the settings name it, or if it may
    /// receive the key. Only requests without a proxy are restricted to public addresses: a proxy
    /// resolves the name itself, and often has a private address.
    fn client(&self, url: &Url, is_trusted: bool) -> &reqwest::Client {
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

/// For hosts that only the service named. The HTTP client does not call it for IP addresses in
/// URLs.
#[derive(Debug, Clone, Copy)]
pub(super) struct PublicAddresses;

impl Resolve for PublicAddresses {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            // The port is a placeholder; the HTTP client replaces it with that of the URL.
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let public: Addrs = Box::new(public_of(name.as_str(), found)?.into_iter());
            Ok(public)
        })
    }
}

fn public_of(name: &str, found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, UrlRefusal> {
    let reason = found.first().and_then(|address| reason_not_public(address.ip()));
    let is_public = |address: &SocketAddr| reason_not_public(address.ip()).is_none();
    let public: Vec<SocketAddr> = found.into_iter().filter(is_public).collect();
    match reason {
        Some(reason) if public.is_empty() => {
            Err(UrlRefusal::of_host(format!("{name} resolves to {reason}")))
        }
        _ => Ok(public),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| SocketAddr::new(text.parse().unwrap(), 0)).collect()
    }

    #[test]
    fn addresses_that_are_not_public_are_dropped() {
        let found = addresses(&["10.0.0.7", "8.8.8.8", "fd00::1", "2606:4700::1111"]);
        assert_eq!(public_of("cdn.test", found), Ok(addresses(&["8.8.8.8", "2606:4700::1111"])));
    }

    #[test]
    fn a_name_without_a_public_address_is_refused() {
        let refusal = public_of("cdn.test", addresses(&["10.0.0.7", "127.0.0.1"])).unwrap_err();
        assert_eq!(refusal.to_string(), "cdn.test resolves to a private address");
        assert_eq!(public_of("cdn.test", Vec::new()), Ok(Vec::new()));
    }

    #[tokio::test]
    async fn a_name_of_a_local_address_is_refused() {
        let outcome = PublicAddresses.resolve("localhost".parse().unwrap()).await;
        let error = outcome.err().expect("only loopback addresses");
        assert!(error.downcast_ref::<UrlRefusal>().is_some(), "{error}");
    }
}
