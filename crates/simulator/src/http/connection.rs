//! Serves one connection, and ends it.

use std::{
    convert::Infallible,
    error::Error,
    future::poll_fn,
    io::{self, ErrorKind},
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    BoxError,
    body::Body,
    http::{Request, Response, StatusCode},
};
use hyper::{
    body::Incoming,
    service::{Service as _, service_fn},
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::{conn::auto::Builder, graceful::GracefulConnection},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf},
    net::TcpStream,
    sync::{oneshot, watch},
    time::{sleep, timeout},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_util::either::Either;
use tracing::debug;

use super::{
    Service,
    activity::{Activity, Cut, Exchange, IdleClose, IdleConnections},
    body::TrackedBody,
};

/// The maximum size of the headers of a request, and of the buffers of a connection.
const MAX_BUFFER_BYTES: usize = 16 << 10;

/// The time in which a client must confirm the end of an idle connection.
const GOODBYE_TIMEOUT: Duration = Duration::from_secs(5);

/// How a connection ended.
enum End {
    /// Either side closed the connection after the last response.
    Done,
    /// A request was not valid HTTP, and hyper has responded with this status code.
    Unreadable(StatusCode),
    /// The client took too long, or the connection was cut.
    Aborted,
}

/// Serves the requests of a connection until either side closes it.
pub(super) async fn serve(
    stream: TcpStream,
    service: Service,
    idle_connections: Arc<IdleConnections>,
    mut stopped: watch::Receiver<bool>,
) {
    let Service { router, tls, client_timeout, on_protocol_error } = service;
    let Some(socket) = encrypted(stream, tls, client_timeout).await else {
        debug!("a TLS handshake failed");
        return;
    };
    let activity = Activity::new(client_timeout, idle_connections);
    let (lent, returned) = LentSocket::new(socket);
    let router = TowerToHyperService::new(router);
    let service = service_fn(|request: Request<Incoming>| {
        let exchange = activity.start();
        respond(router.call(request), exchange)
    });
    let mut builder = Builder::new(TokioExecutor::new());
    // With vectored writes, hyper would send its response to an invalid request before the rest of
    // the response to an earlier request.
    builder.http1().max_buf_size(MAX_BUFFER_BYTES).writev(false);
    let mut connection = Box::pin(builder.serve_connection(TokioIo::new(lent), service));
    let end = drive(connection.as_mut(), &activity, &mut stopped).await;
    drop(connection);
    let Ok(socket) = returned.await else { return };
    match end {
        End::Done => {}
        End::Unreadable(status) => on_protocol_error(status),
        End::Aborted => {
            if activity.cut() == Some(Cut::Reset) {
                // If this fails, the connection is closed normally. There is no way to report the
                // error.
                let _ = tcp(&socket).set_zero_linger();
            }
            return;
        }
    }
    tokio::select! {
        () = linger(socket, client_timeout) => {}
        () = until_stopped(&mut stopped) => {}
    }
}

/// Encrypts a connection, if there is a TLS acceptor. Returns `None` if the handshake fails or
/// takes too long.
async fn encrypted(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    client_timeout: Duration,
) -> Option<Socket> {
    let Some(tls) = tls else { return Some(Either::Left(stream)) };
    let stream = timeout(client_timeout, tls.accept(stream)).await.ok()?.ok()?;
    Some(Either::Right(Box::new(stream)))
}

async fn respond(
    response: impl Future<Output = Result<Response<Body>, Infallible>>,
    mut exchange: Exchange,
) -> Result<Response<TrackedBody>, Cut> {
    let response = response.await.unwrap_or_else(|never| match never {});
    if let Some(cut) = response.extensions().get::<Cut>() {
        exchange.activity.cut_with(*cut);
        return Err(*cut);
    }
    if let Some(idle) = response.extensions().get::<IdleClose>() {
        exchange.activity.close_when_idle(*idle);
    }
    exchange.set_working(false);
    Ok(response.map(|body| TrackedBody { body, exchange }))
}

/// Runs a connection until it ends, or until its client has taken too long. hyper itself limits
/// only the time for the headers of an HTTP/1 request. It does not limit HTTP/2, the detection of
/// the version, or the time in which a client must read.
async fn drive<C: GracefulConnection<Error = BoxError>>(
    mut connection: Pin<&mut C>,
    activity: &Activity,
    stopped: &mut watch::Receiver<bool>,
) -> End {
    let mut timer = pin!(sleep(Duration::ZERO));
    let mut is_stopping = false;
    loop {
        // Polled after the connection, because serving the connection changes the deadline.
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
                let Err(error) = ended else { return End::Done };
                debug!(error, "a connection failed");
                return end_with(&*error, activity);
            }
            () = overdue => {
                debug!("disconnected a slow client");
                if activity.is_idle() {
                    // This tells an HTTP/2 client which of its requests were not served.
                    connection.as_mut().graceful_shutdown();
                    let _ = timeout(GOODBYE_TIMEOUT, connection).await;
                }
                return End::Aborted;
            }
            () = until_stopped(stopped), if !is_stopping => {
                is_stopping = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

fn end_with(error: &(dyn Error + 'static), activity: &Activity) -> End {
    match error.downcast_ref::<hyper::Error>() {
        // This error is the consequence of a cut, for example by the handler.
        _ if activity.cut().is_some() => End::Aborted,
        Some(error) if error.is_parse_too_large() => {
            End::Unreadable(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE)
        }
        Some(error) if error.is_parse() => End::Unreadable(StatusCode::BAD_REQUEST),
        _ => End::Done,
    }
}

async fn until_stopped(stopped: &mut watch::Receiver<bool>) {
    // An error means that the sender was dropped, which stops the connection, too.
    let _ = stopped.wait_for(|stop| *stop).await;
}

/// The maximum number of bytes to discard at the end of a connection while the client is still
/// sending.
const MAX_DISCARDED: usize = 256 << 20;

/// A connection, with or without TLS.
type Socket = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// Returns the TCP connection below TLS.
fn tcp(socket: &Socket) -> &TcpStream {
    match socket {
        Either::Left(stream) => stream,
        Either::Right(stream) => stream.get_ref().0,
    }
}

/// A socket that is lent to hyper. When hyper drops it, the socket goes back to its owner.
///
/// `None` only while it is being dropped.
struct LentSocket(Option<(Socket, oneshot::Sender<Socket>)>);

impl LentSocket {
    fn new(socket: Socket) -> (Self, oneshot::Receiver<Socket>) {
        let (end, returned) = oneshot::channel();
        (Self(Some((socket, end))), returned)
    }

    fn socket(&mut self) -> io::Result<Pin<&mut Socket>> {
        let lent = self.0.as_mut().map(|(socket, _)| Pin::new(socket));
        lent.ok_or_else(|| ErrorKind::NotConnected.into())
    }
}

impl AsyncRead for LentSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.socket()?.poll_read(cx, buffer)
    }
}

impl AsyncWrite for LentSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.socket()?.poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket()?.poll_flush(cx)
    }

    /// Does nothing, because not hyper but the owner of the connection decides how it ends.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Drop for LentSocket {
    fn drop(&mut self) {
        if let Some((socket, end)) = self.0.take() {
            // If the owner no longer waits for the socket, this closes the connection.
            let _ = end.send(socket);
        }
    }
}

/// Ends a connection: closes the sending side, and discards what still arrives until the client
/// closes its side. If the simulator closed the connection while received data is unread, the
/// operating system would send a reset, and the client could lose the last response.
async fn linger(mut socket: Socket, time: Duration) {
    let discard = async {
        let mut left = if socket.shutdown().await.is_ok() { MAX_DISCARDED } else { 0 };
        while left > 0 && tcp(&socket).readable().await.is_ok() {
            match read(tcp(&socket)) {
                Ok(0) => return,
                Ok(length) => left = left.saturating_sub(length),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    };
    let _ = timeout(time, discard).await;
}

/// A function of its own, so that its buffer is not a part of the future, of which there is one per
/// connection.
fn read(stream: &TcpStream) -> io::Result<usize> {
    stream.try_read(&mut [0; 16 << 10])
}
