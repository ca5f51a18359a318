//! Manages the connections of a client, and replaces them when a host stops responding.
//!
//! The HTTP client keeps a connection as long as it appears to work, and cannot be told to close
//! it. An HTTP/2 connection that accepts requests without responding would block all requests to
//! its host. So when an exchange with a host stalls, the host gets a new HTTP client with new
//! connections, as often as that happens.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use tokio::time::{self, Instant};
use url::Url;

use super::routes::Routes;

/// After this much silence, other requests to the host use a new connection. The silent exchange
/// itself continues.
const STALL_LIMIT: Duration = Duration::from_secs(10);

/// The maximum number of hosts with their own client. A service uses few hosts; the limit bounds
/// memory if a service invents host names.
const MOST_HOSTS: usize = 32;

type Make = Box<dyn Fn() -> reqwest::Result<Routes> + Send + Sync>;

/// Provides the HTTP client for a URL.
pub(crate) struct Connections {
    stall_limit: Duration,
    shared: Routes,
    make: Make,
    renewed: Mutex<HashMap<String, Renewed>>,
}

struct Renewed {
    generation: u64,
    routes: Routes,
}

/// The HTTP client for one exchange, and its generation among the clients for its host.
pub(crate) struct Connection {
    pub(crate) http: reqwest::Client,
    generation: u64,
}

impl Connections {
    /// `make` creates the clients that all hosts share, and later the clients for single hosts.
    /// `silence` is the configured silence limit.
    pub(crate) fn new(
        silence: Duration,
        make: impl Fn() -> reqwest::Result<Routes> + Send + Sync + 'static,
    ) -> reqwest::Result<Self> {
        let stall_limit = STALL_LIMIT.min(silence);
        Ok(Self { stall_limit, shared: make()?, make: Box::new(make), renewed: Mutex::default() })
    }

    /// Returns the client for a host that the settings name, or that may receive the key.
    pub(crate) fn to(&self, url: &Url) -> Connection {
        self.routed(url, |routes| routes.for_url(url))
    }

    /// Returns the client for a host that only the service named.
    pub(crate) fn to_untrusted(&self, url: &Url) -> Connection {
        self.routed(url, |routes| routes.for_untrusted_url(url))
    }

    fn routed(&self, url: &Url, route: impl Fn(&Routes) -> &reqwest::Client) -> Connection {
        let renewed = self.renewed();
        // The map is usually empty; avoid building a host name then.
        match (!renewed.is_empty()).then(|| renewed.get(&host_of(url))).flatten() {
            Some(Renewed { generation, routes }) => {
                Connection { http: route(routes).clone(), generation: *generation }
            }
            None => Connection { http: route(&self.shared).clone(), generation: 0 },
        }
    }

    /// Stops using the current connections to this host for new exchanges. Exchanges in progress
    /// continue.
    pub(crate) fn abandon(&self, url: &Url, connection: &Connection) {
        let mut renewed = self.renewed();
        let host = host_of(url);
        let current = renewed.get(&host).map_or(0, |renewed| renewed.generation);
        // Another stalled exchange on the same connection may have replaced it already.
        if current != connection.generation {
            return;
        }
        let Ok(routes) = (self.make)() else { return };
        if renewed.len() >= MOST_HOSTS && !renewed.contains_key(&host) {
            renewed.clear();
        }
        tracing::debug!(host, "host is silent; new requests use a new connection");
        renewed.insert(host, Renewed { generation: current + 1, routes });
    }

    /// Returns the outcome of `exchange`, or `None` if there is none by the time that `until`
    /// returns. `quiet_since` returns when the exchange last made progress.
    pub(crate) async fn watch<T>(
        &self,
        (url, connection): (&Url, &Connection),
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
                        self.abandon(url, connection);
                        is_stalled = true;
                    }
                    if Instant::now() >= end {
                        return None;
                    }
                }
            }
        }
    }

    fn renewed(&self) -> MutexGuard<'_, HashMap<String, Renewed>> {
        self.renewed.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

fn host_of(url: &Url) -> String {
    format!(
        "{}:{}",
        url.host_str().unwrap_or_default(),
        url.port_or_known_default().unwrap_or_default()
    )
}
