//! A client that observes the bytes, and how the connection ends.

use std::{fmt::Write as _, io::ErrorKind};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
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
        let mut stream = TcpStream::connect(authority).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    /// Reads until the connection ends.
    pub async fn read(mut stream: TcpStream) -> Self {
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
