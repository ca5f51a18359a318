//! The server of the benchmarks: a constant response to each request, from a separate process on
//! its own CPU core, so that it costs the measured process nothing.

use std::{
    env,
    io::{self, BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime,
};

use super::{
    images::{PICTURE, png},
    tls,
};

/// The variable that makes this program a server, and its protocol.
const PROTOCOL: &str = "IMAGEKILN_BENCH_SERVER";
const TLS: &str = "tls";
const HTTP2: &str = "http2";

/// The cores of the measured process and of the server.
const CLIENT_CORE: usize = 0;
const SERVER_CORE: usize = 1;

pub const PENDING: &str = r#"{"id":"f7a1c9","status":"Pending","result":null,"progress":0.5}"#;

/// The response to a submission at a URL.
pub fn submitted(url: &str) -> String {
    let polling_url = format!("{url}/v1/get_result?id=f7a1c9");
    format!(r#"{{"id":"f7a1c9","polling_url":"{polling_url}","cost":4,"input_mp":0}}"#)
}

/// A running server, which ends when this is dropped.
pub struct Server {
    child: Child,
    pub url: String,
}

impl Server {
    /// Starts a server for HTTP/1.1, and moves this process to its own core. Call it before any
    /// thread starts.
    pub fn start() -> Self {
        Self::with_protocol("http1")
    }

    /// Starts a server for HTTP/1.1 over TLS.
    pub fn start_tls() -> Self {
        Self::with_protocol(TLS)
    }

    /// Starts a server for HTTP/2 over TLS.
    pub fn start_http2() -> Self {
        Self::with_protocol(HTTP2)
    }

    fn with_protocol(protocol: &str) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .env(PROTOCOL, protocol)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        pin_to(CLIENT_CORE);
        Self { child, url: url.trim().to_owned() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It also ends by itself when its input is closed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs the server if this process is to be the server. Returns whether it was.
pub fn serve() -> bool {
    let Ok(protocol) = env::var(PROTOCOL) else { return false };
    pin_to(SERVER_CORE);
    let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
    std::thread::spawn(|| {
        // The parent closes the pipe when it ends, however it ends.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        std::process::exit(0);
    });
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let scheme = if [TLS, HTTP2].contains(&&*protocol) { "https" } else { "http" };
        let url = format!("{scheme}://{address}");
        println!("{url}");
        match &*protocol {
            TLS => return tls::serve(listener, &url, tls::HTTP1).await,
            HTTP2 => return tls::serve(listener, &url, tls::HTTP2).await,
            _ => {}
        }
        let responses: &Responses = Box::leak(Box::new(Responses::new(&url)));
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(respond(stream, responses));
        }
    });
    true
}

struct Responses {
    submitted: Vec<u8>,
    pending: Vec<u8>,
    ready: Vec<u8>,
    picture: Vec<u8>,
}

impl Responses {
    fn new(url: &str) -> Self {
        let json = |body: &str| response("application/json", body.as_bytes());
        let ready = format!(
            r#"{{"id":"ready","status":"Ready","result":{{"sample":"{url}/picture.png"}}}}"#
        );
        Self {
            submitted: json(&submitted(url)),
            pending: json(PENDING),
            ready: json(&ready),
            picture: response("image/png", &png(PICTURE)),
        }
    }

    fn to(&self, target: &str) -> &[u8] {
        match target {
            "/v1/get_result?id=ready" => &self.ready,
            "/picture.png" => &self.picture,
            target if target.starts_with("/v1/get_result") => &self.pending,
            _ => &self.submitted,
        }
    }
}

/// Responds to the requests of one connection until it is closed.
async fn respond(mut stream: TcpStream, responses: &Responses) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; 1 << 20];
    while let Some(target) = next_request(&mut stream, &mut buffer).await? {
        stream.write_all(responses.to(&target)).await?;
    }
    Ok(())
}

/// Reads a request, and returns its target in lower case. `None` if the connection was closed.
pub async fn next_request(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<Option<String>> {
    // No client sends a request before it has the response to the previous one.
    let mut filled = 0;
    let end = loop {
        if let Some(at) = buffer[..filled].windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        match stream.read(&mut buffer[filled..]).await? {
            0 => return Ok(None),
            read => filled += read,
        }
    };
    let head = String::from_utf8_lossy(&buffer[..end]).to_ascii_lowercase();
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
    let length: usize = length.map_or(0, |length| length.parse().unwrap());
    let mut left = length - (filled - end).min(length);
    while left > 0 {
        let most = left.min(buffer.len());
        match stream.read(&mut buffer[..most]).await? {
            0 => return Ok(None),
            read => left -= read,
        }
    }
    Ok(Some(head.split(' ').nth(1).unwrap_or_default().to_owned()))
}

pub fn response(media_type: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

/// Restricts this process to one core.
#[cfg(target_os = "linux")]
fn pin_to(core: usize) {
    use rustix::thread::{CpuSet, sched_setaffinity};
    let mut cores = CpuSet::new();
    cores.set(core);
    // Fails on a machine with one core, which both processes then share.
    let _ = sched_setaffinity(None, &cores);
}

#[cfg(not(target_os = "linux"))]
fn pin_to(_: usize) {}
