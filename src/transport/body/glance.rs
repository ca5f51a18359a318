//! Makes sure that the runtime has looked at its sockets.

use std::task::{Context, Poll};

/// A byte that this process sends to itself. When the runtime sees it, it has also seen what had
/// arrived before.
#[derive(Default)]
pub(super) struct Glance {
    #[cfg(unix)]
    ends: Option<(tokio::net::UnixStream, tokio::net::UnixStream)>,
    is_sent: bool,
}

impl Glance {
    /// Completes once the runtime has looked. A system without such sockets may not have looked.
    #[cfg(unix)]
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.ends.is_none() {
            // Fails if the process has no descriptor left.
            self.ends = tokio::net::UnixStream::pair().ok();
        }
        let Some((to, from)) = &self.ends else { return Poll::Ready(()) };
        if !self.is_sent && to.try_write(b".").is_err() {
            return Poll::Ready(());
        }
        self.is_sent = true;
        let mut has_arrived = false;
        while from.poll_read_ready(cx).is_ready() {
            // The second one finds nothing, so that the runtime looks again the next time.
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
