//! The responses of a scripted server, including invalid ones.

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// Loopback delivers this many bytes before `write` returns. It may hold back what is left of more
/// for a moment, in which neither side makes progress, so a paused clock would jump.
pub(super) const AT_ONCE: usize = 48 * 1024;

/// A scripted reply: how much of the request to read, what to write, and what to do with the
/// connection.
pub struct Reply {
    pub(super) reading: Reading,
    head: String,
    body: Vec<u8>,
    length: Length,
    pub(super) pieces: Option<mpsc::UnboundedReceiver<Vec<u8>>>,
    pub(super) end: End,
}

/// The declaration of the body's length.
enum Length {
    Correct,
    Declared(usize),
    /// Not declared: the body ends with the connection or with the last chunk.
    Omitted,
}

/// The part of a request to read before the response.
pub(super) enum Reading {
    Whole,
    HeadOnly,
    /// Reads as many bytes of the body as the test requests, and the rest when the test drops the
    /// handle.
    Paced(mpsc::UnboundedReceiver<(usize, oneshot::Sender<()>)>),
}

/// The action on the connection after the response.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    KeepOpen,
    Close,
    Reset,
    /// Sends nothing more, and keeps the connection open until the client leaves.
    Silence,
}

/// Sends the rest of a response on behalf of the test. Dropping it ends the response.
pub struct Pieces(mpsc::UnboundedSender<Vec<u8>>);

/// Controls how much of a request body the server reads. Dropping it reads the rest.
pub struct Pace(mpsc::UnboundedSender<(usize, oneshot::Sender<()>)>);

impl Reply {
    /// A response with a status line and no body.
    pub fn status(status: u16) -> Self {
        Self { head: format!("HTTP/1.1 {status} Scripted\r\n"), ..Self::nothing() }
    }

    pub fn json(status: u16, body: &Value) -> Self {
        Self::status(status).header("Content-Type", "application/json").body(body.to_string())
    }

    pub fn html(status: u16) -> Self {
        Self::status(status)
            .header("Content-Type", "text/html")
            .body("<!DOCTYPE html><title>Bad gateway</title><p>A proxy error.")
    }

    pub fn redirect(status: u16, location: &str) -> Self {
        Self::status(status).header("Location", location)
    }

    pub fn png(body: &[u8]) -> Self {
        Self::status(200).header("Content-Type", "image/png").body(body)
    }

    /// Not a single byte. The connection stays open.
    pub fn nothing() -> Self {
        Self {
            reading: Reading::Whole,
            head: String::new(),
            body: Vec::new(),
            length: Length::Correct,
            pieces: None,
            end: End::KeepOpen,
        }
    }

    /// Reads the request and never responds.
    pub fn silence() -> Self {
        Self::nothing().then_silence()
    }

    /// Reads the request and closes the connection.
    pub fn close() -> Self {
        Self::nothing().then_close()
    }

    /// Reads the request and resets the connection.
    pub fn reset() -> Self {
        Self::nothing().then_reset()
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.head.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    pub fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = body.as_ref().to_vec();
        self
    }

    /// Declares a wrong `Content-Length`.
    pub fn declaring_length(mut self, length: usize) -> Self {
        self.length = Length::Declared(length);
        self
    }

    /// A chunked body without the last chunk.
    pub fn cut_chunks(body: &[u8]) -> Self {
        let mut chunk = format!("{:x}\r\n", body.len()).into_bytes();
        chunk.extend_from_slice(body);
        chunk.extend_from_slice(b"\r\n");
        let mut reply = Self::status(200).header("Transfer-Encoding", "chunked").body(chunk);
        reply.length = Length::Omitted;
        reply.then_close()
    }

    /// A body that ends with the connection.
    pub fn until_close(mut self) -> Self {
        self.length = Length::Omitted;
        self.header("Connection", "close").then_close()
    }

    /// Appends bytes after the end of the response, as a confused proxy would.
    pub fn followed_by(mut self, other: &Self) -> Self {
        self.length = Length::Declared(self.body.len());
        self.body.extend_from_slice(&other.bytes());
        self
    }

    pub fn then_close(mut self) -> Self {
        self.end = End::Close;
        self
    }

    pub fn then_reset(mut self) -> Self {
        self.end = End::Reset;
        self
    }

    pub fn then_silence(mut self) -> Self {
        self.end = End::Silence;
        self
    }

    /// Lets the test send everything after the bytes so far.
    pub fn in_pieces(mut self) -> (Self, Pieces) {
        let (sender, pieces) = mpsc::unbounded_channel();
        self.pieces = Some(pieces);
        (self, Pieces(sender))
    }

    /// Responds without reading the body of the request.
    pub fn early(mut self) -> Self {
        self.reading = Reading::HeadOnly;
        self
    }

    /// Lets the test control how the body of the request is read.
    pub fn reading_slowly(mut self) -> (Self, Pace) {
        let (sender, pace) = mpsc::unbounded_channel();
        self.reading = Reading::Paced(pace);
        (self, Pace(sender))
    }

    /// The clock is held until a client has received a large response, and then the connection
    /// ends.
    pub(super) fn is_large(&self) -> bool {
        self.body.len() > AT_ONCE
    }

    /// Returns the bytes on the wire.
    pub fn bytes(&self) -> Vec<u8> {
        if self.head.is_empty() {
            return self.body.clone();
        }
        let length = match self.length {
            Length::Correct => Some(self.body.len()),
            Length::Declared(length) => Some(length),
            Length::Omitted => None,
        };
        let length = length.map_or(String::new(), |length| format!("Content-Length: {length}\r\n"));
        let last = self.is_large() && self.end == End::KeepOpen;
        let end = if last { "Connection: close\r\n\r\n" } else { "\r\n" };
        [self.head.as_bytes(), length.as_bytes(), end.as_bytes(), &self.body].concat()
    }
}

impl Pieces {
    pub fn send(&self, piece: impl AsRef<[u8]>) {
        // A client that has left needs nothing more.
        let _ = self.0.send(piece.as_ref().to_vec());
    }
}

impl Pace {
    /// Returns once the server has read `bytes` more.
    pub async fn read(&self, bytes: usize) {
        let (done, read) = oneshot::channel();
        self.0.send((bytes, done)).expect("the request is still being read");
        read.await.expect("the client sends that many bytes");
    }
}
