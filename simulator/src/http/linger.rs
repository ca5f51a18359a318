//! Closes a connection so that the client gets the last response. If the simulator closed it while
//! data of the client is unread, the system would send a reset, and the client could lose the
//! response.

use std::{io::ErrorKind, time::Duration};

use tokio::{io::AsyncWriteExt as _, net::TcpStream, time::timeout};

use super::socket::Socket;

/// How much of what the client is still sending is discarded. Then the connection is closed.
const MAX_BYTES: usize = 256 << 20;

/// Sends the last bytes, ends the sending side, and discards what arrives until the client closes
/// its side.
pub(crate) async fn close(mut stream: Socket, last: &[u8], time: Duration) {
    let discard = async {
        if stream.write_all(last).await.is_err() || stream.shutdown().await.is_err() {
            return;
        }
        let mut discarded = 0;
        while discarded < MAX_BYTES && stream.tcp().readable().await.is_ok() {
            match read(stream.tcp()) {
                Ok(0) => return,
                Ok(length) => discarded += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    };
    let _ = timeout(time, discard).await;
}

/// Keeps its buffer out of the future, of which there is one per connection.
fn read(stream: &TcpStream) -> std::io::Result<usize> {
    stream.try_read(&mut [0; 16 << 10])
}
