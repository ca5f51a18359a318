//! A client that observes the bytes, and how the connection ends.

use std::{fmt::Write as _, io::ErrorKind};

use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// A raw response.
pub struct Raw {
    head: String,
    pub body: Vec<u8>,
    reset: bool,
}

impl Raw {
    /// Sends a request on a new connection and reads the complete response.
    pub async fn send(method: &str, url: &str, headers: &[(&str, &str)], body: &str) -> Self {
        Self::read(Self::start(method, url, headers, body).await).await
    }

    /// Sends a request on a new connection.
    pub async fn start(method: &str, url: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let (authority, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let mut request =
            format!("{method} /{path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n");
        for (name, value) in headers {
            write!(request, "{name}: {value}\r\n").unwrap();
        }
        write!(request, "content-length: {}\r\n\r\n{body}", body.len()).unwrap();
        open(url, request).await
    }

    /// Reads until the connection ends.
    pub async fn read(mut stream: impl AsyncRead + Unpin) -> Self {
        let mut bytes = Vec::new();
        let reset = match stream.read_to_end(&mut bytes).await {
            Ok(_) => false,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => true,
            Err(error) => panic!("{error}"),
        };
        let end = bytes
            .windows(4)
            .position(|window| window == b"\r\n\r\n")
            .map_or(bytes.len(), |at| at + 4);
        let body = bytes.split_off(end);
        Self { head: String::from_utf8(bytes).unwrap().to_ascii_lowercase(), body, reset }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.summary()))
    }

    /// The status code and the media type, and how the connection ended if that was too early.
    pub fn summary(&self) -> String {
        let end = if self.reset { "reset" } else { "closed" };
        let Some(status) = self.head.strip_prefix("http/1.1 ").and_then(|head| head.get(..3))
        else {
            return end.to_owned();
        };
        let whole = self
            .header("content-length")
            .is_none_or(|length| length == self.body.len().to_string());
        let kind = self.header("content-type").unwrap_or_default();
        let end = if whole && !self.reset { String::new() } else { format!(", {end}") };
        format!("{status} {kind}{end}")
    }
}

/// Opens a connection to the server of a URL, and sends these bytes.
pub async fn open(url: &str, bytes: impl AsRef<[u8]>) -> TcpStream {
    let authority = url.strip_prefix("http://").unwrap().split('/').next().unwrap();
    let mut stream = TcpStream::connect(authority).await.unwrap();
    stream.write_all(bytes.as_ref()).await.unwrap();
    stream
}

/// Opens a connection, and sends the head of a submission with these lines.
pub async fn announce(base: &str, path: &str, key: &str, lines: &str) -> TcpStream {
    let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\nx-key: {key}\r\n{lines}\r\n\r\n");
    open(base, head).await
}

/// Sends the head of a submission, and waits until the server asks for its body.
pub async fn announce_and_wait(base: &str, key: &str, body: &str) -> TcpStream {
    let lines = format!(
        "content-type: application/json\r\nconnection: close\r\nexpect: 100-continue\r\n\
         content-length: {}",
        body.len()
    );
    let mut stream = announce(base, "/v1/gen-2-pro", key, &lines).await;
    let mut interim = [0; 25];
    stream.read_exact(&mut interim).await.unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream
}
