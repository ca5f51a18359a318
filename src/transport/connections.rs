//! Manages the connections of a client and their TLS backend, and replaces the connections to a
//! host that stops responding.
//!
//! A server may close an idle connection at any time, even at the moment at which the client sends
//! a request on it. The client repeats a poll or a download that fails in this way. It cannot
//! repeat a submission, because it does not know whether the server has received it. So each
//! submission uses a new connection, except over HTTP/2, where the server tells the client which
//! requests it has received.
//!
//! `reqwest` keeps a connection as long as it appears to work, and has no method that closes one.
//! An HTTP/2 connection that accepts requests without responding would block all requests to its
//! host. So each time an exchange with a host stalls, this module creates a new HTTP client, with
//! new connections, for the next requests to that host.

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

/// If an exchange makes no progress for this long, later requests to the same host use a new
/// connection. The stalled exchange itself continues.
const STALL_LIMIT: Duration = Duration::from_secs(10);

/// The maximum number of hosts with an HTTP client of their own. A service normally uses few hosts.
/// The limit bounds the memory that a service can use up by inventing host names.
const MOST_HOSTS: usize = 32;

/// Provides the HTTP client for a URL.
pub(crate) struct Connections {
    stall_limit: Duration,
    settings: HttpSettings,
    shared: Arc<HttpClients>,
    /// The clients of hosts with a stalled exchange. They replace the shared clients for these
    /// hosts.
    renewed: Mutex<HashMap<String, Arc<HttpClients>>>,
    /// The hosts that responded to the last submission over HTTP/2.
    multiplexed: Mutex<HashSet<String>>,
}

/// The HTTP client for one exchange with a host, and the set of clients that it belongs to.
pub(crate) struct Connection {
    pub(crate) http: reqwest::Client,
    clients: Arc<HttpClients>,
    host: String,
}

impl Connections {
    /// Creates the connections of a client. `silence` is the configured silence limit; an exchange
    /// counts as stalled after this time at the latest.
    pub(crate) fn new(silence: Duration, settings: HttpSettings) -> reqwest::Result<Self> {
        let shared = Arc::new(HttpClients::new(&settings)?);
        let stall_limit = STALL_LIMIT.min(silence);
        let (renewed, multiplexed) = Default::default();
        Ok(Self { stall_limit, settings, shared, renewed, multiplexed })
    }

    /// Returns the HTTP client for the host of a URL. `is_trusted` is true if the settings name the
    /// host or if it may receive the key. It is false if only the service named the host.
    pub(crate) fn to(&self, url: &Url, is_trusted: bool) -> Connection {
        let host = host_of(url);
        let clients = Arc::clone(self.renewed.lock().get(&host).unwrap_or(&self.shared));
        Connection { http: clients.client(url, is_trusted).clone(), clients, host }
    }

    /// Returns the HTTP client for a submission to a base URL. It opens a new connection, unless
    /// the host responded to the last submission over HTTP/2.
    pub(crate) fn to_submit(&self, url: &Url) -> Connection {
        let connection = self.to(url, true);
        if self.multiplexed.lock().contains(&connection.host) {
            return connection;
        }
        Connection { http: connection.clients.once(url).clone(), ..connection }
    }

    /// Remembers whether the host responded to a submission over HTTP/2.
    pub(crate) fn responded(&self, url: &Url, version: Version) {
        let (host, mut multiplexed) = (host_of(url), self.multiplexed.lock());
        if version == Version::HTTP_2 {
            multiplexed.insert(host);
        } else {
            multiplexed.remove(&host);
        }
    }

    /// Replaces the HTTP client of the host, so that new exchanges use new connections. Exchanges
    /// in progress continue on the old ones.
    pub(crate) fn abandon(&self, Connection { clients, host, .. }: &Connection) {
        let mut renewed = self.renewed.lock();
        // Another stalled exchange of the same client may have replaced the client already.
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

    /// Runs an exchange and returns its outcome, or `None` if it has not ended by the time that
    /// `until` returns. `quiet_since` returns when the exchange last made progress. If the exchange
    /// stalls, the connection is abandoned for other exchanges.
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
                    // An exchange that reached a short deadline does not prove that its connection
                    // has stalled.
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

/// The interval and the timeout of HTTP/2 pings. The HTTP client closes a connection on which a
/// ping was not acknowledged in time.
const PING_EVERY: Duration = Duration::from_secs(5);
const PING_LIMIT: Duration = Duration::from_secs(5);

/// Changes the settings of an HTTP client before it is built.
pub(crate) type Customize = Arc<dyn Fn(ClientBuilder) -> ClientBuilder + Send + Sync>;

/// The settings that all HTTP clients of a [`Client`](crate::Client) share.
pub(crate) struct HttpSettings {
    pub(crate) tls: Customize,
    pub(crate) connect_timeout: Duration,
    pub(crate) user_agent: HeaderValue,
    /// The proxy for all requests, and its URL. Replaces the proxies from the environment.
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
            // `reqwest` would forward the key to the target of a redirect. `download` follows
            // redirects itself, without the key.
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

/// Returns a function that sets up TLS in the HTTP clients of one [`Client`](crate::Client). The
/// backend is the default of reqwest (rustls with aws-lc-rs), or the native TLS library of the
/// operating system. All HTTP clients share the rustls configuration, because loading the system
/// certificates is slow.
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

/// The HTTP clients for all kinds of URLs. The URL and the purpose of a request select one of them.
struct HttpClients {
    /// For loopback URLs. Uses no proxy, because a proxy cannot reach the loopback interface of
    /// this machine.
    direct: reqwest::Client,
    /// Uses a proxy if one is configured for the host.
    proxied: reqwest::Client,
    /// For hosts that only the service named. Uses no proxy, and connects only to public addresses.
    public: reqwest::Client,
    /// Like `direct`, but opens a new connection for each request.
    direct_once: reqwest::Client,
    proxied_once: reqwest::Client,
    proxies: Matcher,
}

impl HttpClients {
    /// Builds all clients from the same settings. If the settings have no proxy, the clients use
    /// the proxies that the environment defines at this moment.
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

    /// Returns the client that opens a new connection for a request to a trusted host.
    fn once(&self, url: &Url) -> &reqwest::Client {
        if is_loopback(url) { &self.direct_once } else { &self.proxied_once }
    }

    /// Returns the client for a URL. A host is trusted if the settings name it, or if it may
    /// receive the key. For other hosts, requests without a proxy are restricted to public
    /// addresses. Requests through a proxy are not, because the proxy resolves the host name
    /// itself, and the proxy often has a private address.
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

/// Resolves the names of hosts that only the service named, and drops addresses that are not
/// public. The HTTP client does not call a resolver for an IP address in a URL; `DeliveryRules`
/// checks those.
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
