//! The stream of a connection, which records its activity.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::oneshot,
};

use super::{
    activity::Activity,
    protocol_error::{self, ProtocolError},
    socket::Socket,
};

/// A stream for hyper, which is returned when hyper drops it.
pub(crate) struct TrackedStream {
    /// `None` only while this is dropped.
    stream: Option<Socket>,
    activity: Arc<Activity>,
    error: Option<ProtocolError>,
    end: Option<oneshot::Sender<Returned>>,
}

/// A stream that hyper has finished with.
pub(crate) struct Returned {
    pub(crate) stream: Socket,
    /// The response that hyper did not send.
    pub(crate) error: Option<ProtocolError>,
}

impl TrackedStream {
    pub(crate) fn new(
        stream: Socket,
        activity: Arc<Activity>,
    ) -> (Self, oneshot::Receiver<Returned>) {
        let (end, returned) = oneshot::channel();
        (Self { stream: Some(stream), activity, error: None, end: Some(end) }, returned)
    }

    fn stream(&mut self) -> io::Result<Pin<&mut Socket>> {
        self.stream.as_mut().map(Pin::new).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl AsyncRead for TrackedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = self.stream()?.poll_read(cx, buffer);
        let data = buffer.filled().get(before..).unwrap_or_default();
        if !data.is_empty() {
            self.activity.received(data);
        }
        read
    }
}

impl AsyncWrite for TrackedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let (bytes, automatic) = protocol_error::split(bytes);
        if bytes.is_empty()
            && let Some((error, length)) = automatic
        {
            self.error = Some(error);
            return Poll::Ready(Ok(length));
        }
        let written = self.stream()?.poll_write(cx, bytes);
        match &written {
            Poll::Ready(_) => self.activity.sent(),
            Poll::Pending => self.activity.blocked(),
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_flush(cx)
    }

    /// Does nothing, because the owner of the connection decides how it ends.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Drop for TrackedStream {
    fn drop(&mut self) {
        if let (Some(stream), Some(end)) = (self.stream.take(), self.end.take()) {
            // If nobody waits for it, the stream is closed.
            let _ = end.send(Returned { stream, error: self.error.take() });
        }
    }
}
