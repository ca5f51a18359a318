//! Reads responses within limits of time and size. Of a truncated or damaged response, it keeps the
//! part that arrived, because this part may contain the id of a paid task.

use std::{future::poll_fn, io::Read, time::Duration};

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use futures_core::Stream;
use reqwest::{
    StatusCode,
    header::{CONTENT_ENCODING, HeaderMap},
};
use serde_json::Value;
use tokio::time::{self, Instant};

use super::{
    redaction::Redaction,
    salvage::{Scanner, salvage},
};
use crate::values::{MAX_NAME, one_line};

/// The maximum number of response bytes to keep. A normal response has a few hundred bytes.
const MOST_KEPT: usize = 4 * 1024 * 1024;

/// The maximum number of bytes to read of a response that exceeds `MOST_KEPT`. The rest is only
/// scanned for an object, for example a task id after long padding.
const MOST_READ: usize = 64 * 1024 * 1024;

/// A response, possibly incomplete.
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) ending: Ending,
    /// The decompressed body. `None` if it is longer than `MOST_KEPT`.
    pub(crate) body: Option<Vec<u8>>,
    /// The JSON of the body, or what could be salvaged from a truncated or damaged document.
    pub(crate) document: Option<Value>,
}

/// How a body ended.
#[derive(Debug)]
pub(crate) enum Ending {
    Complete,
    Broken(reqwest::Error),
    /// Nothing arrived for too long, or the body did not end before the deadline.
    TimedOut,
    TooLong,
}

/// The part of a body that has arrived. The first `MOST_KEPT` bytes are kept. A body that is longer
/// is scanned, and the scanner keeps only small members.
#[derive(Default)]
struct Arrived {
    kept: Vec<u8>,
    beyond: Option<Scanner>,
    read: usize,
}

impl Arrived {
    /// Adds a chunk. Returns `false` if the caller should stop reading.
    fn push(&mut self, chunk: &[u8]) -> bool {
        self.read += chunk.len();
        if self.beyond.is_none() && self.read <= MOST_KEPT {
            self.kept.extend_from_slice(chunk);
            return true;
        }
        let scanner = self.beyond.get_or_insert_with(|| {
            let mut scanner = Scanner::default();
            scanner.push(&self.kept);
            scanner
        });
        scanner.push(chunk);
        !scanner.is_done() && self.read <= MOST_READ
    }
}

impl Response {
    /// Reads a response until it ends, nothing arrives for `silence`, or the deadline passes.
    pub(crate) async fn read(
        status: StatusCode,
        headers: HeaderMap,
        body: impl Stream<Item = reqwest::Result<Bytes>>,
        silence: Duration,
        deadline: Instant,
    ) -> Self {
        let mut body = std::pin::pin!(body);
        let mut arrived = Arrived::default();
        let ending = loop {
            let next = poll_fn(|cx| body.as_mut().poll_next(cx));
            let stop = deadline.min(Instant::now() + silence);
            match time::timeout_at(stop, next).await {
                Ok(None) if arrived.beyond.is_none() => break Ending::Complete,
                Ok(None) => break Ending::TooLong,
                Ok(Some(Err(error))) => break Ending::Broken(error),
                Ok(Some(Ok(chunk))) if arrived.push(&chunk) => {}
                Ok(Some(Ok(_))) => break Ending::TooLong,
                Err(_) => break Ending::TimedOut,
            }
        };
        let (body, document) = match arrived.beyond {
            Some(scanner) => (None, scanner.found()),
            None => {
                let body = unpacked(arrived.kept, &headers);
                let document = document(&body);
                (Some(body), document)
            }
        };
        Self { document, body, status, headers, ending }
    }

    /// Returns the JSON of the body. If it is an array, returns its first element, because some
    /// services wrap the object in an array.
    pub(crate) fn object(&self) -> Option<&Value> {
        match self.document.as_ref()? {
            Value::Array(elements) => elements.first(),
            other => Some(other),
        }
    }

    /// Returns the member `name` of the outermost object.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.object()?.get(name)
    }

    pub(crate) fn request_id(&self, redaction: &Redaction) -> Option<String> {
        ["x-request-id", "request-id"].iter().find_map(|name| {
            let id = self.headers.get(*name)?.to_str().ok()?;
            Some(one_line(&redaction.redact(id), MAX_NAME))
        })
    }
}

/// Decompresses a gzip body. The client does not request compression, but a server or a proxy may
/// compress the body anyway.
fn unpacked(body: Vec<u8>, headers: &HeaderMap) -> Vec<u8> {
    let is_declared = headers
        .get(CONTENT_ENCODING)
        .is_some_and(|encoding| encoding.as_bytes().ends_with(b"gzip"));
    if !is_declared && !body.starts_with(&[0x1f, 0x8b]) {
        return body;
    }
    let mut plain = Vec::new();
    // An error means that the body is truncated or damaged; keep what was decompressed before it.
    let _ = MultiGzDecoder::new(body.as_slice()).take(MOST_KEPT as u64).read_to_end(&mut plain);
    // The header may be stale, if a proxy decompressed the body and kept the header.
    if plain.is_empty() { body } else { plain }
}

fn document(body: &[u8]) -> Option<Value> {
    let utf16 = match body {
        [0xff, 0xfe, rest @ ..] => Some((rest, u16::from_le_bytes as fn([u8; 2]) -> u16)),
        [0xfe, 0xff, rest @ ..] => Some((rest, u16::from_be_bytes as fn([u8; 2]) -> u16)),
        _ => None,
    };
    if let Some((rest, unit)) = utf16 {
        let units: Vec<u16> = rest.as_chunks().0.iter().map(|pair| unit(*pair)).collect();
        return document(String::from_utf16_lossy(&units).as_bytes());
    }
    let body = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body);
    match serde_json::from_slice::<Value>(body) {
        // The JSON was serialized twice, so the document is a string that contains the object.
        Ok(Value::String(text)) if text.starts_with('{') => document(text.as_bytes()),
        Ok(value) => Some(value),
        Err(_) => salvage(body),
    }
}
