//! Accepts connections, serves them with a router, and disconnects slow clients.
//!
//! To cut its connection, a handler adds a [`Cut`] to the extensions of its response, or returns a
//! body that fails with a [`Cut`].

mod activity;
pub(crate) mod body;
mod connection;
mod listeners;
pub(crate) mod outgoing;
pub(crate) mod response;
pub(crate) mod signed_url;
mod stream;
pub(crate) mod tls;

use std::{io::ErrorKind, sync::Arc, time::Duration};

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
pub(crate) use self::{
    activity::{Cut, IdleClose},
    listeners::Listeners,
};

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
            // The client disconnected before its connection was accepted.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::ConnectionAborted
                        | ErrorKind::ConnectionReset
                        | ErrorKind::ConnectionRefused
                ) =>
            {
                debug!(%error, "a connection was not accepted");
            }
            // The process has probably too many open files, so an immediate retry would fail, too.
            Err(error) => {
                warn!(%error, "could not accept connections");
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            }
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
