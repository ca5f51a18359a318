//! Waits until the tokio runtime has asked the operating system for socket events.

use std::task::{Context, Poll};

/// Sends a byte through a pair of sockets of this process. When the runtime reports that the byte
/// has arrived, it has also processed the events of other sockets that occurred before the byte was
/// sent.
#[derive(Default)]
pub(super) struct Glance {
    #[cfg(unix)]
    ends: Option<(tokio::net::UnixStream, tokio::net::UnixStream)>,
    is_sent: bool,
}

impl Glance {
    /// Completes once the runtime has asked for socket events. On systems without Unix sockets, or
    /// if no socket pair can be opened, it completes without this guarantee.
    #[cfg(unix)]
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.ends.is_none() {
            // Fails if the process has no file descriptor left.
            self.ends = tokio::net::UnixStream::pair().ok();
        }
        let Some((to, from)) = &self.ends else { return Poll::Ready(()) };
        if !self.is_sent && to.try_write(b".").is_err() {
            return Poll::Ready(());
        }
        self.is_sent = true;
        let mut has_arrived = false;
        while from.poll_read_ready(cx).is_ready() {
            // Read until the socket is empty. Only a read that finds nothing makes the runtime ask
            // the operating system for the next event.
            match from.try_read(&mut [0]) {
                Ok(1..) => has_arrived = true,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                _ => return Poll::Ready(()),
            }
        }
        self.is_sent = !has_arrived;
        if has_arrived { Poll::Ready(()) } else { Poll::Pending }
    }

    #[cfg(not(unix))]
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.is_sent = !self.is_sent;
        if self.is_sent {
            return std::pin::pin!(tokio::task::yield_now()).poll(cx);
        }
        Poll::Ready(())
    }
}
