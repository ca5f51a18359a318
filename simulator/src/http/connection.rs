//! Serves one connection.

use std::{
    future::poll_fn,
    pin::pin,
    sync::{Arc, atomic::Ordering},
    task::Poll,
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    http::{HeaderValue, Request, Response, Version, header},
};
use hyper::{
    body::Incoming,
    service::{Service as _, service_fn},
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use tokio::{
    net::TcpStream,
    sync::watch,
    time::{sleep, timeout},
};
use tracing::debug;

use super::{
    Service,
    activity::{Activity, Cut},
    body::{Timed, TrackedBody},
    idle_connections::IdleConnections,
    linger,
    protocol_error::{self, ProtocolError},
    socket::Socket,
    stream::{Returned, TrackedStream},
};

/// The maximum size of the headers of a request, and of the buffers of a connection.
const MAX_BUFFER_BYTES: usize = 16 << 10;

/// How long an HTTP/2 client has to confirm the end of an idle connection.
const GOAWAY_TIMEOUT: Duration = Duration::from_secs(5);

/// How a connection ended.
#[derive(PartialEq, Eq)]
enum End {
    /// By either side, after the last response.
    Done,
    /// The client took too long, or a handler cut the connection.
    Aborted,
}

/// Serves requests until the connection is closed by either side.
pub(crate) async fn serve(
    stream: TcpStream,
    service: Service,
    idle_connections: Arc<IdleConnections<Activity>>,
    mut stopped: watch::Receiver<bool>,
) {
    let Service { router, tls, client_timeout, on_protocol_error } = service;
    let Some(stream) = Socket::accept(stream, tls, client_timeout).await else {
        debug!("a TLS handshake failed");
        return;
    };
    let activity = Activity::new(client_timeout, idle_connections);
    let (stream, returned) = TrackedStream::new(stream, Arc::clone(&activity));
    let end = serve_requests(stream, router, &activity, client_timeout, stopped.clone()).await;
    let Ok(Returned { stream, error }) = returned.await else { return };
    if activity.cut() == Some(Cut::Reset) {
        // If this fails the connection is closed normally. There is no way to report it.
        let _ = stream.tcp().set_zero_linger();
    }
    if end == End::Aborted {
        return;
    }
    let last = error.map(|error| {
        let status = error.status(&activity);
        on_protocol_error(status, protocol_error::reason(status));
        ProtocolError::response(status)
    });
    let last = last.unwrap_or_default();
    tokio::select! {
        () = linger::close(stream, &last, client_timeout) => {}
        () = until_stopped(&mut stopped) => {}
    }
}

async fn serve_requests(
    stream: TrackedStream,
    router: Router,
    activity: &Arc<Activity>,
    client_timeout: Duration,
    mut stopped: watch::Receiver<bool>,
) -> End {
    let router = TowerToHyperService::new(router);
    let handle = |request: Request<Incoming>| {
        let http1 = request.version() < Version::HTTP_2;
        activity.request_started(!http1);
        let work = activity.work();
        let activity = Arc::clone(activity);
        let (head, body) = request.into_parts();
        let (body, unread) = Timed::new(body, client_timeout);
        let response = router.call(Request::from_parts(head, body));
        async move {
            let mut response = response.await.unwrap_or_else(|never| match never {});
            if let Some(cut) = response.extensions().get::<Cut>() {
                activity.cut_with(*cut);
                return Err(*cut);
            }
            if http1 && unread.load(Ordering::Relaxed) {
                close_after(&mut response);
            }
            let response = response.map(|body| TrackedBody::new(body, activity));
            drop(work);
            Ok(response)
        }
    };
    let mut builder = Builder::new(TokioExecutor::new());
    // With vectored writes, hyper would send its response to an invalid request before the rest of
    // an earlier one.
    builder.http1().max_buf_size(MAX_BUFFER_BYTES).writev(false);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service_fn(handle)));
    let mut timer = pin!(sleep(client_timeout));
    let mut stopping = false;
    loop {
        // Polled after the connection, which changes the deadline.
        let overdue = poll_fn(|context| match activity.deadline() {
            None => Poll::Pending,
            Some(deadline) => {
                if timer.deadline() != deadline {
                    timer.as_mut().reset(deadline);
                }
                timer.as_mut().poll(context)
            }
        });
        tokio::select! {
            biased;
            () = activity.until_cut() => return End::Aborted,
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    debug!(error, "a connection failed");
                }
                // The handler that failed with it ended the connection.
                return if activity.cut().is_some() { End::Aborted } else { End::Done };
            }
            () = overdue => {
                debug!("disconnected a slow client");
                if activity.is_idle_http2() {
                    // Tells the client which requests were not served.
                    connection.as_mut().graceful_shutdown();
                    let _ = timeout(GOAWAY_TIMEOUT, connection).await;
                }
                return End::Aborted;
            }
            () = until_stopped(&mut stopped), if !stopping => {
                stopping = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// Closes the connection after the response, because the rest of the body must not be taken for the
/// next request.
fn close_after(response: &mut Response<Body>) {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
}

async fn until_stopped(stopped: &mut watch::Receiver<bool>) {
    // An error means that the sender was dropped, which also stops it.
    let _ = stopped.wait_for(|stop| *stop).await;
}
