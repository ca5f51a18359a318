//! Manages the connections of a client, and replaces them when a host stops responding.
//!
//! The HTTP client keeps a connection as long as it appears to work, and cannot be told to close
//! it. An HTTP/2 connection that accepts requests without responding would block all requests to
//! its host. So when an exchange with a host stalls, the host gets a new HTTP client with new
//! connections, as often as that happens.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::{self, Instant};
use url::Url;

use super::http::{HttpClients, HttpSettings};

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
        Ok(Self { stall_limit, settings, shared, renewed: Mutex::default() })
    }

    /// Returns the client for a host. It is trusted if the settings name it, or if it may receive
    /// the key, and not if only the service named it.
    pub(crate) fn to(&self, url: &Url, is_trusted: bool) -> Connection {
        let port = url.port_or_known_default().unwrap_or_default();
        let host = format!("{}:{port}", url.host_str().unwrap_or_default());
        let clients = Arc::clone(self.renewed().get(&host).unwrap_or(&self.shared));
        Connection { http: clients.client(url, is_trusted).clone(), clients, host }
    }

    /// Stops using the current connections to the host for new exchanges. Exchanges in progress
    /// continue.
    pub(crate) fn abandon(&self, Connection { clients, host, .. }: &Connection) {
        let mut renewed = self.renewed();
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

    fn renewed(&self) -> MutexGuard<'_, HashMap<String, Arc<HttpClients>>> {
        self.renewed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
