//! What the scripted server answers to one request, down to the bytes.

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// One scripted answer: how much of the request is read, what is written, and what becomes of the
/// connection.
pub struct Answer {
    pub(super) reading: Reading,
    head: String,
    body: Vec<u8>,
    length: Length,
    pub(super) pieces: Option<mpsc::UnboundedReceiver<Vec<u8>>>,
    pub(super) end: End,
}

/// What the head says of the body's length.
enum Length {
    True,
    Declared(usize),
    /// Nothing: the end of the connection is the end of the body, or the chunks tell it.
    Untold,
}

/// How much of a request is read before it is answered.
pub(super) enum Reading {
    Whole,
    HeadOnly,
    /// So many bytes of the body at each word of the test, and the rest once the test lets go.
    Paced(mpsc::UnboundedReceiver<(usize, oneshot::Sender<()>)>),
}

/// What becomes of the connection after the answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    KeepOpen,
    Close,
    Reset,
    /// Nothing more is said, and the connection stays until the client leaves.
    Silence,
}

/// Sends what follows an answer, at the test's word. Dropping it brings the answer to its end.
pub struct Pieces(mpsc::UnboundedSender<Vec<u8>>);

/// Reads the body of a request, at the test's word. Dropping it lets the rest be read.
pub struct Pace(mpsc::UnboundedSender<(usize, oneshot::Sender<()>)>);

impl Answer {
    /// A status line, and no body yet.
    pub fn status(status: u16) -> Self {
        Self { head: format!("HTTP/1.1 {status} Scripted\r\n"), ..Self::nothing() }
    }

    pub fn json(status: u16, body: &Value) -> Self {
        Self::status(status).header("Content-Type", "application/json").body(body.to_string())
    }

    pub fn html(status: u16) -> Self {
        Self::status(status)
            .header("Content-Type", "text/html")
            .body("<!DOCTYPE html><title>Bad gateway</title><p>A proxy speaks.")
    }

    pub fn redirect(status: u16, location: &str) -> Self {
        Self::status(status).header("Location", location)
    }

    pub fn png(body: &[u8]) -> Self {
        Self::status(200).header("Content-Type", "image/png").body(body)
    }

    /// Not one byte; by itself the connection stays open and silent.
    pub fn nothing() -> Self {
        Self {
            reading: Reading::Whole,
            head: String::new(),
            body: Vec::new(),
            length: Length::True,
            pieces: None,
            end: End::KeepOpen,
        }
    }

    /// The request is read, and never answered.
    pub fn silence() -> Self {
        Self::nothing().then_silence()
    }

    /// The request is read, and the connection closed.
    pub fn close() -> Self {
        Self::nothing().then_close()
    }

    /// The request is read, and the connection reset.
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

    /// A `Content-Length` other than the true one.
    pub fn declaring_length(mut self, length: usize) -> Self {
        self.length = Length::Declared(length);
        self
    }

    /// A body in chunks, the last of which is missing.
    pub fn cut_chunks(body: &[u8]) -> Self {
        let mut chunk = format!("{:x}\r\n", body.len()).into_bytes();
        chunk.extend_from_slice(body);
        chunk.extend_from_slice(b"\r\n");
        let mut answer = Self::status(200).header("Transfer-Encoding", "chunked").body(chunk);
        answer.length = Length::Untold;
        answer.then_close()
    }

    /// A body that ends where the connection does.
    pub fn until_close(mut self) -> Self {
        self.length = Length::Untold;
        self.header("Connection", "close").then_close()
    }

    /// Bytes behind the end of the answer: what a confused proxy sends.
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

    /// What follows the bytes so far is for the test to send.
    pub fn in_pieces(mut self) -> (Self, Pieces) {
        let (sender, pieces) = mpsc::unbounded_channel();
        self.pieces = Some(pieces);
        (self, Pieces(sender))
    }

    /// Answers without reading the body of the request.
    pub fn early(mut self) -> Self {
        self.reading = Reading::HeadOnly;
        self
    }

    /// Reads the body of the request as the test says.
    pub fn reading_slowly(mut self) -> (Self, Pace) {
        let (sender, pace) = mpsc::unbounded_channel();
        self.reading = Reading::Paced(pace);
        (self, Pace(sender))
    }

    /// The bytes on the wire.
    pub fn bytes(&self) -> Vec<u8> {
        if self.head.is_empty() {
            return self.body.clone();
        }
        let length = match self.length {
            Length::True => Some(self.body.len()),
            Length::Declared(length) => Some(length),
            Length::Untold => None,
        };
        let length = length.map_or(String::new(), |length| format!("Content-Length: {length}\r\n"));
        [self.head.as_bytes(), length.as_bytes(), b"\r\n", &self.body].concat()
    }
}

impl Pieces {
    pub fn send(&self, piece: impl AsRef<[u8]>) {
        // A client that has left needs nothing more.
        let _ = self.0.send(piece.as_ref().to_vec());
    }
}

impl Pace {
    /// Returns once the server has read so many bytes more.
    pub async fn read(&self, bytes: usize) {
        let (done, read) = oneshot::channel();
        self.0.send((bytes, done)).expect("the request is still being read");
        read.await.expect("the client sends that many bytes");
    }
}
