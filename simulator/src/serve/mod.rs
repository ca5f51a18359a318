//! Connections: accepted, served by a router, cut off when their client is too slow or a handler
//! asks for it, and ended in order.
//!
//! A handler has its connection cut by answering with [`Cut`] among the extensions of its response,
//! or by a body that fails with it.

mod body;
mod connection;
mod pulse;
mod wire;

use std::io::ErrorKind;
use std::time::Duration;

use axum::Router;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::{debug, warn};

pub(crate) use body::is_too_slow;
pub(crate) use pulse::Cut;

/// How long to wait with the next connection where the system had no room for the last.
const NO_ROOM: Duration = Duration::from_secs(1);

/// Serves `router` at `listener` until `stopped` tells `true` or its sender is gone; then accepts
/// nothing any more, closes the connections on which nothing is asked, and returns when the others
/// are done. Dropping it drops them.
///
/// A client that takes longer than `client_timeout` to send the head of a request, or to send its
/// body, or to take any part of its answer, is cut off.
pub(crate) async fn run(
    listener: TcpListener,
    router: Router,
    client_timeout: Duration,
    stopped: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    let mut stopping = stopped.clone();
    loop {
        let stream = tokio::select! {
            // An error means that the sender is gone, which is a stop too.
            _ = stopping.wait_for(|stop| *stop) => break,
            // What is done is let go of.
            Some(_) = connections.join_next() => continue,
            stream = accept(&listener) => stream,
        };
        // An answer goes out as soon as it is written.
        let _ = stream.set_nodelay(true);
        connections.spawn(connection::serve(
            stream,
            router.clone(),
            client_timeout,
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
            // The client left before it was let in.
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
            // Most likely there are too many open files, and another try at once would fail too.
            Err(error) => {
                warn!(%error, "no connection can be accepted");
                tokio::time::sleep(NO_ROOM).await;
            }
        }
    }
}
