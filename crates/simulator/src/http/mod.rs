//! Accepts connections, serves them with a router, and disconnects slow clients.
//!
//! To cut its connection, a handler adds a [`Cut`] to the extensions of its response, or returns a
//! body that fails with a [`Cut`].

mod activity;
pub(crate) mod body;
mod connection;
pub(crate) mod outgoing;
pub(crate) mod response;
pub(crate) mod signed_url;
pub(crate) mod tls;

use std::{
    io::{self, ErrorKind},
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{
    Router,
    http::{HeaderValue, Method, StatusCode},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer, ExposeHeaders};
use tracing::{debug, warn};

use self::activity::IdleConnections;
pub(crate) use self::activity::{Cut, IdleClose};
use crate::error::StartError;

/// How long to wait after the operating system could not accept a connection.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_secs(1);

/// The maximum number of connections of a listener that may wait for a request at the same time.
const MAX_IDLE_CONNECTIONS: usize = 1024;

/// The service that a listener offers.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) router: Router,
    pub(crate) tls: Option<TlsAcceptor>,
    /// The time limit for a client to send a request after the connection became idle, to send the
    /// body of a request, or to read any part of a response. Slower clients are disconnected.
    pub(crate) client_timeout: Duration,
    /// Called for each request that is not valid HTTP, with the status code of the response.
    pub(crate) on_protocol_error: Arc<dyn Fn(StatusCode) + Send + Sync>,
}

/// Serves `service` at `listener` until `stopped` is `true` or its sender is dropped. Then it
/// accepts no more connections, closes the idle ones, and returns when the other ones have ended.
/// Dropping the future drops all connections.
pub(crate) async fn serve(listener: TcpListener, service: Service, stopped: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    let idle_connections = IdleConnections::new(MAX_IDLE_CONNECTIONS);
    let mut stopping = stopped.clone();
    loop {
        let stream = tokio::select! {
            // An error means that the sender was dropped, which stops the listener, too.
            _ = stopping.wait_for(|stop| *stop) => break,
            // Forget a connection that has ended.
            Some(_) = connections.join_next() => continue,
            stream = accept(&listener) => stream,
        };
        // Send responses without delay.
        let _ = stream.set_nodelay(true);
        connections.spawn(connection::serve(
            stream,
            service.clone(),
            Arc::clone(&idle_connections),
            stopped.clone(),
        ));
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => match error.kind() {
                // The client disconnected before its connection was accepted.
                ErrorKind::ConnectionAborted
                | ErrorKind::ConnectionReset
                | ErrorKind::ConnectionRefused => debug!(%error, "a connection was not accepted"),
                // The process has probably too many open files, so an immediate retry would fail,
                // too.
                _ => {
                    warn!(%error, "could not accept connections");
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                }
            },
        }
    }
}

/// Lets pages of these origins call the router, or pages of any origin if `*` is among them.
pub(crate) fn allow_origins(origins: &[String], router: Router) -> Router {
    if origins.is_empty() {
        return router;
    }
    let origins = if origins.iter().any(|origin| origin == "*") {
        AllowOrigin::any()
    } else {
        AllowOrigin::list(origins.iter().filter_map(|origin| HeaderValue::try_from(origin).ok()))
    };
    let layer = CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([Method::GET, Method::HEAD, Method::POST])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(ExposeHeaders::any());
    router.layer(layer)
}

/// The number of free ports to try, until one is free for both IPv4 and IPv6.
const ATTEMPTS: usize = 8;

/// Sockets with the same port, to which clients can connect from now on. Two may be needed, because
/// some clients resolve `localhost` to 127.0.0.1, and others to `[::1]`.
pub(crate) struct Listeners {
    /// The address of the first socket.
    pub(crate) address: SocketAddr,
    pub(crate) sockets: Vec<TcpListener>,
}

impl Listeners {
    /// Listens on an address, or by default on a free port of 127.0.0.1. If the address is
    /// 127.0.0.1, also listens on the same port of `[::1]`, if the machine has IPv6.
    pub(crate) async fn open(address: Option<SocketAddr>) -> Result<Self, StartError> {
        let address = address.unwrap_or((Ipv4Addr::LOCALHOST, 0).into());
        let mut attempts = if address.port() == 0 { ATTEMPTS } else { 1 };
        loop {
            attempts -= 1;
            match Self::bind(address).await {
                Err(error) if error.kind() == ErrorKind::AddrInUse && attempts > 0 => {}
                listeners => {
                    return listeners.map_err(|source| StartError::Listen { address, source });
                }
            }
        }
    }

    async fn bind(address: SocketAddr) -> io::Result<Self> {
        let first = TcpListener::bind(address).await?;
        let address = first.local_addr()?;
        let mut sockets = vec![first];
        if address.ip() == Ipv4Addr::LOCALHOST {
            match TcpListener::bind((Ipv6Addr::LOCALHOST, address.port())).await {
                Ok(second) => sockets.push(second),
                // Fail, because `localhost` would otherwise lead some clients to another program.
                Err(error) if error.kind() == ErrorKind::AddrInUse => return Err(error),
                Err(error) => debug!(%error, "no IPv6"),
            }
        }
        Ok(Self { address, sockets })
    }
}
