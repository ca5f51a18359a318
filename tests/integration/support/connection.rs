//! A hand-written HTTP/1.1 server, because libraries refuse to misbehave.

use std::sync::Arc;

use tokio::{
    io::{self, AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{
    hold_clock,
    received::Received,
    reply::{AT_ONCE, End, Reading, Reply},
    scripted::Shared,
};

/// Serves the requests of one connection until either side closes it.
pub(super) async fn serve(stream: TcpStream, number: usize, shared: Arc<Shared>) {
    let mut connection = Connection { stream, unread: Vec::new() };
    while let Ok(Some(head)) = connection.read_head().await {
        let received = Received::parse(&head, number);
        let length = received.header("content-length").map_or(0, |text| text.parse().unwrap_or(0));
        let Some(reply) = shared.reply_to(&received) else {
            shared.arrived(received);
            return;
        };
        let index = shared.arrived(received);
        // An error means that the client has left. Its next connection is separate.
        match connection.respond(reply, index, length, &shared).await {
            Ok(true) => {}
            Ok(false) | Err(_) => return,
        }
    }
}

struct Connection {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Connection {
    /// Returns whether the connection stays open.
    async fn respond(
        &mut self,
        mut reply: Reply,
        index: usize,
        length: usize,
        shared: &Shared,
    ) -> io::Result<bool> {
        let bytes = reply.bytes();
        let is_large = reply.is_large();
        match reply.reading {
            Reading::HeadOnly => {}
            Reading::Whole => {
                let _held = (length > AT_ONCE).then(hold_clock);
                let body = self.take(length).await?;
                shared.read(index, &body, length);
            }
            Reading::Paced(mut pace) => {
                let mut left = length;
                while let Some((bytes, done)) = pace.recv().await {
                    let body = self.take(bytes.min(left)).await?;
                    left -= body.len();
                    shared.read(index, &body, length);
                    // The test may have stopped waiting.
                    let _ = done.send(());
                }
                let body = self.take(left).await?;
                shared.read(index, &body, length);
            }
        }
        let held = is_large.then(hold_clock);
        self.stream.write_all(&bytes).await?;
        if held.is_some() && reply.end != End::Reset {
            assert!(reply.pieces.is_none() && reply.end != End::Silence, "the clock must go on");
            // The client leaves when it has read everything, or no longer wants it.
            self.stream.shutdown().await?;
            while self.stream.read(&mut [0; 4096]).await? > 0 {}
            return Ok(false);
        }
        if let Some(pieces) = &mut reply.pieces {
            while let Some(piece) = pieces.recv().await {
                let _held = (piece.len() > AT_ONCE).then(hold_clock);
                self.stream.write_all(&piece).await?;
            }
        }
        match reply.end {
            End::KeepOpen => return Ok(true),
            End::Close => self.stream.shutdown().await?,
            End::Reset => self.stream.set_zero_linger()?,
            End::Silence => while self.stream.read(&mut [0; 4096]).await? > 0 {},
        }
        Ok(false)
    }

    /// Reads up to the empty line. `None` if the client closed the connection between two requests.
    async fn read_head(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(end) = self.unread.windows(4).position(|window| window == b"\r\n\r\n") {
                let head = self.unread.drain(..end + 4).take(end).collect();
                return Ok(Some(head));
            }
            if self.stream.read_buf(&mut self.unread).await? == 0 {
                return Ok(None);
            }
        }
    }

    /// Reads `length` bytes of the body, or fewer if the client disconnects.
    async fn take(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let known = self.unread.len().min(length);
        let mut body: Vec<u8> = self.unread.drain(..known).collect();
        let mut rest = (&mut self.stream).take((length - known) as u64);
        match rest.read_to_end(&mut body).await {
            Ok(_) => Ok(body),
            // A reset is another way to disconnect.
            Err(_) => Ok(body),
        }
    }
}
