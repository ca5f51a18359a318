//! The connections of a client, and how a host gets new ones.
//!
//! The HTTP client keeps a connection for as long as it seems to work, and gives no way to abandon
//! one. An HTTP/2 connection that accepts requests and answers none would then block all requests
//! to its host. So a host on which an exchange fell silent gets a client of its own, with new
//! connections, as often as that happens.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use tokio::time::{self, Instant};
use url::Url;

use super::routes::Routes;

/// After this much silence, at most, other requests to the host use a new connection. The silent
/// exchange itself is waited for.
const SUSPICIOUS: Duration = Duration::from_secs(10);

/// How many hosts can have a client of their own. A service has a few hosts; a service that makes
/// up host names must not make us keep them all.
const MOST_HOSTS: usize = 32;

type Make = Box<dyn Fn() -> reqwest::Result<Routes> + Send + Sync>;

/// Hands out the HTTP client for a URL.
pub(crate) struct Connections {
    suspicious: Duration,
    shared: Routes,
    make: Make,
    renewed: Mutex<HashMap<String, Renewed>>,
}

struct Renewed {
    generation: u64,
    routes: Routes,
}

/// The client for one exchange, and which generation of its host's clients it is.
pub(crate) struct Connection {
    pub(crate) http: reqwest::Client,
    generation: u64,
}

impl Connections {
    /// `make` makes the clients that serve every host at first, and further ones like them for a
    /// single host. `silence` is how long a host may be silent.
    pub(crate) fn new(
        silence: Duration,
        make: impl Fn() -> reqwest::Result<Routes> + Send + Sync + 'static,
    ) -> reqwest::Result<Self> {
        let suspicious = SUSPICIOUS.min(silence);
        Ok(Self { suspicious, shared: make()?, make: Box::new(make), renewed: Mutex::default() })
    }

    /// To a host that the settings name, or that may receive the key.
    pub(crate) fn to(&self, url: &Url) -> Connection {
        self.routed(url, |routes| routes.for_url(url))
    }

    /// To a host that only the service named.
    pub(crate) fn to_foreign(&self, url: &Url) -> Connection {
        self.routed(url, |routes| routes.for_foreign_url(url))
    }

    fn routed(&self, url: &Url, route: impl Fn(&Routes) -> &reqwest::Client) -> Connection {
        let renewed = self.renewed();
        // Mostly empty, and then no name needs to be built.
        match (!renewed.is_empty()).then(|| renewed.get(&host_of(url))).flatten() {
            Some(Renewed { generation, routes }) => {
                Connection { http: route(routes).clone(), generation: *generation }
            }
            None => Connection { http: route(&self.shared).clone(), generation: 0 },
        }
    }

    /// Stops using the connections to this host for new exchanges. Those that are under way go on.
    pub(crate) fn abandon(&self, url: &Url, connection: &Connection) {
        let mut renewed = self.renewed();
        let host = host_of(url);
        let current = renewed.get(&host).map_or(0, |renewed| renewed.generation);
        // Others who fell silent on the same connection may have been first.
        if current != connection.generation {
            return;
        }
        let Ok(routes) = (self.make)() else { return };
        if renewed.len() >= MOST_HOSTS && !renewed.contains_key(&host) {
            renewed.clear();
        }
        tracing::debug!(host, "silent; new requests use a new connection");
        renewed.insert(host, Renewed { generation: current + 1, routes });
    }

    /// The outcome of `exchange`, or `None` if it has none by the time that `until` tells.
    /// `quiet_since` tells when it last moved.
    pub(crate) async fn watch<T>(
        &self,
        (url, connection): (&Url, &Connection),
        quiet_since: impl Fn() -> Instant,
        until: impl Fn() -> Instant,
        exchange: impl Future<Output = T>,
    ) -> Option<T> {
        let mut exchange = std::pin::pin!(exchange);
        let mut is_suspicious = false;
        loop {
            let (since, end) = (quiet_since(), until());
            let wake = if is_suspicious { end } else { end.min(since + self.suspicious) };
            match time::timeout_at(wake, exchange.as_mut()).await {
                Ok(outcome) => return Some(outcome),
                Err(_) if quiet_since() > since => {}
                Err(_) => {
                    // The end of a short deadline says nothing about the connection.
                    if since.elapsed() >= self.suspicious {
                        self.abandon(url, connection);
                        is_suspicious = true;
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
