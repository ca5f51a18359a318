//! The stream of a connection, and how to end it.

use std::{
    io::{self, ErrorKind},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf},
    net::TcpStream,
    sync::oneshot,
    time::timeout,
};
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;

/// The maximum number of bytes to discard at the end of a connection while the client is still
/// sending.
const MAX_DISCARDED: usize = 256 << 20;

/// A connection, with or without TLS.
pub(super) type Socket = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// Returns the TCP connection below TLS.
pub(super) fn tcp(socket: &Socket) -> &TcpStream {
    match socket {
        Either::Left(stream) => stream,
        Either::Right(stream) => stream.get_ref().0,
    }
}

/// A socket that is lent to hyper. When hyper drops it, the socket goes back to its owner.
pub(super) struct LentSocket {
    /// `None` only while `self` is being dropped.
    socket: Option<Socket>,
    end: Option<oneshot::Sender<Socket>>,
}

impl LentSocket {
    pub(super) fn new(socket: Socket) -> (Self, oneshot::Receiver<Socket>) {
        let (end, returned) = oneshot::channel();
        (Self { socket: Some(socket), end: Some(end) }, returned)
    }

    fn socket(&mut self) -> io::Result<Pin<&mut Socket>> {
        self.socket.as_mut().map(Pin::new).ok_or_else(|| ErrorKind::NotConnected.into())
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
        if let (Some(socket), Some(end)) = (self.socket.take(), self.end.take()) {
            // If the owner no longer waits for the socket, this closes the connection.
            let _ = end.send(socket);
        }
    }
}

/// Ends a connection: closes the sending side, and discards what still arrives until the client
/// closes its side. If the simulator closed the connection while received data is unread, the
/// operating system would send a reset, and the client could lose the last response.
pub(super) async fn linger(mut socket: Socket, time: Duration) {
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
