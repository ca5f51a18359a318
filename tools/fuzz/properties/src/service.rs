//! The other end of all connections of the clients: a proxy on the loopback interface that responds
//! to each request with the input.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use reqwest::{
    StatusCode,
    header::{CONTENT_LENGTH, HeaderMap, TRANSFER_ENCODING},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::{Builder, Runtime},
};

/// A response as it is sent.
#[derive(Debug, Clone)]
pub struct Response {
    /// The status code.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The chunks of the body.
    pub chunks: Vec<Bytes>,
}

/// What the client sent during a call.
#[derive(Debug, Default)]
pub struct Sent {
    /// The number of requests, including those that open a tunnel.
    pub requests: usize,
    /// The body of the last request.
    pub body: Vec<u8>,
}

struct Service {
    /// Clients and the service share one thread, so no exchange waits for another thread.
    runtime: Runtime,
    address: SocketAddr,
    exchange: Arc<Mutex<Exchange>>,
    /// Held during a call.
    turn: Mutex<()>,
}

#[derive(Default)]
struct Exchange {
    /// The parts of the response.
    response: Vec<Vec<u8>>,
    /// Whether the connection ends with the response.
    closes: bool,
    sent: Sent,
}

static SERVICE: LazyLock<Service> = LazyLock::new(|| {
    let runtime = Builder::new_current_thread().enable_all().build().expect("epoll works");
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let exchange = Arc::<Mutex<Exchange>>::default();
    let connections = Arc::clone(&exchange);
    runtime.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // The client may close its connection at any time.
            tokio::spawn(serve(stream, Arc::clone(&connections)));
        }
    });
    Service { runtime, address, exchange, turn: Mutex::default() }
});

/// Returns the URL of the proxy.
pub fn url() -> String {
    format!("http://{}", SERVICE.address)
}

/// Makes a call of a client, and responds to each of its requests with `response`. Returns what the
/// client sent, too.
pub fn call<T>(response: &Response, future: impl Future<Output = T>) -> (T, Sent) {
    let _turn = locked(&SERVICE.turn);
    let (response, closes) = response.on_the_wire();
    *locked(&SERVICE.exchange) = Exchange { response, closes, sent: Sent::default() };
    let outcome = SERVICE.runtime.block_on(future);
    (outcome, std::mem::take(&mut locked(&SERVICE.exchange).sent))
}

/// Runs a call that sends no request.
pub fn run<T>(future: impl Future<Output = T>) -> T {
    SERVICE.runtime.block_on(future)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Response {
    /// Returns the parts of the response, and whether the connection has to end after them. The
    /// body is sent in its chunks, unless its length is declared or it must not have one.
    fn on_the_wire(&self) -> (Vec<Vec<u8>>, bool) {
        let has_no_body = matches!(self.status.as_u16(), ..200 | 204 | 304);
        let closes = has_no_body || self.headers.contains_key(CONTENT_LENGTH);
        let mut head = format!("HTTP/1.1 {}\r\n", self.status.as_str()).into_bytes();
        for (name, value) in self.headers.iter().filter(|(name, _)| **name != TRANSFER_ENCODING) {
            head.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
        }
        let framing = if closes { "connection: close" } else { "transfer-encoding: chunked" };
        head.extend([framing.as_bytes(), b"\r\n\r\n"].concat());
        let chunks = self.chunks.iter().filter(|chunk| !chunk.is_empty());
        if closes {
            let parts = std::iter::once(head).chain(chunks.map(|chunk| chunk.to_vec()));
            return (parts.collect(), true);
        }
        for chunk in chunks {
            let size = format!("{:x}\r\n", chunk.len());
            head.extend([size.as_bytes(), chunk, b"\r\n"].concat());
        }
        head.extend(b"0\r\n\r\n");
        (vec![head], false)
    }
}

/// Responds to the requests of a connection.
async fn serve(mut stream: TcpStream, exchange: Arc<Mutex<Exchange>>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::new();
    loop {
        let Some((is_tunnel, body)) = request(&mut stream, &mut buffer).await? else {
            return Ok(());
        };
        let (response, closes) = {
            let mut exchange = locked(&exchange);
            exchange.sent.requests += 1;
            exchange.sent.body = body;
            (exchange.response.clone(), exchange.closes)
        };
        if is_tunnel {
            // Fails, and leaves no connection in TIME_WAIT: there may be thousands in a second.
            return stream.set_zero_linger();
        }
        for part in response {
            stream.write_all(&part).await?;
        }
        if closes {
            return Ok(());
        }
    }
}

/// Reads a request: whether it opens a tunnel, and its body.
async fn request(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
) -> io::Result<Option<(bool, Vec<u8>)>> {
    let end = loop {
        if let Some(at) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&buffer[..end]).to_ascii_lowercase();
    let length = head.split_once("\r\ncontent-length: ").and_then(|(_, rest)| rest.lines().next());
    let end_of_body = end + length.map_or(0, |length| length.parse().expect("a length"));
    while buffer.len() < end_of_body {
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
    let body = buffer[end..end_of_body].to_vec();
    buffer.drain(..end_of_body);
    Ok(Some((head.starts_with("connect "), body)))
}
