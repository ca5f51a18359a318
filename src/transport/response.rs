//! Reading responses: within bounds of time and size, and keeping what arrived of one that is
//! truncated or damaged.

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

/// How much of a response is kept, in bytes. A response is a few hundred bytes.
const MOST_KEPT: usize = 4 * 1024 * 1024;

/// How much is read beyond what is kept, in bytes, in search of an id behind a long padding.
const MOST_READ: usize = 64 * 1024 * 1024;

/// When to stop reading a response.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// The longest silence.
    pub(crate) silence: Duration,
    /// When its body must be at its end, however it comes.
    pub(crate) until: Instant,
}

/// A response, as much of it as arrived.
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) ending: Ending,
    /// The JSON of the body: all of it, or what can be read of a document that is truncated or
    /// damaged.
    document: Option<Value>,
}

/// How a body ended.
#[derive(Debug)]
pub(crate) enum Ending {
    Complete,
    Broken(reqwest::Error),
    Silent,
    /// It kept coming, and did not come to its end in time.
    TooSlow,
    TooLong,
}

/// What arrived of a body: the first part is kept, and what follows is only scanned.
#[derive(Default)]
struct Arrived {
    kept: Vec<u8>,
    beyond: Option<Scanner>,
    read: usize,
}

impl Arrived {
    /// Returns whether more is worth reading.
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

    fn document(self, headers: &HeaderMap) -> Option<Value> {
        match self.beyond {
            Some(scanner) => scanner.found(),
            None => document(&unpacked(self.kept, headers)),
        }
    }
}

impl Response {
    pub(crate) async fn read(
        status: StatusCode,
        headers: HeaderMap,
        body: impl Stream<Item = reqwest::Result<Bytes>>,
        limits: Limits,
    ) -> Self {
        let mut body = std::pin::pin!(body);
        let mut arrived = Arrived::default();
        let ending = loop {
            let next = poll_fn(|cx| body.as_mut().poll_next(cx));
            let stop = limits.until.min(Instant::now() + limits.silence);
            match time::timeout_at(stop, next).await {
                Ok(None) if arrived.beyond.is_none() => break Ending::Complete,
                Ok(None) => break Ending::TooLong,
                Ok(Some(Err(error))) => break Ending::Broken(error),
                Ok(Some(Ok(chunk))) if arrived.push(&chunk) => {}
                Ok(Some(Ok(_))) => break Ending::TooLong,
                Err(_) if Instant::now() >= limits.until => break Ending::TooSlow,
                Err(_) => break Ending::Silent,
            }
        };
        Self { document: arrived.document(&headers), status, headers, ending }
    }

    /// The JSON of the body, or the first element of an array: that is where an object is that is
    /// wrapped in one.
    pub(crate) fn object(&self) -> Option<&Value> {
        match self.document.as_ref()? {
            Value::Array(elements) => elements.first(),
            other => Some(other),
        }
    }

    /// The member `name` of the body's outermost object, if it is not null.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.object()?.get(name).filter(|value| !value.is_null())
    }

    /// The member `name`, if it is text that is not empty, or a number.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        match self.get(name)? {
            Value::String(text) if !text.is_empty() => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    pub(crate) fn document(&self) -> Option<&Value> {
        self.document.as_ref()
    }

    pub(crate) fn request_id(&self, redaction: &Redaction) -> Option<String> {
        ["x-request-id", "request-id"].iter().find_map(|name| {
            let id = self.headers.get(*name)?.to_str().ok()?;
            Some(one_line(&redaction.redact(id), MAX_NAME))
        })
    }
}

/// A body that was compressed although nobody asked for that.
fn unpacked(body: Vec<u8>, headers: &HeaderMap) -> Vec<u8> {
    let is_declared = headers
        .get(CONTENT_ENCODING)
        .is_some_and(|encoding| encoding.as_bytes().ends_with(b"gzip"));
    if !is_declared && !body.starts_with(&[0x1f, 0x8b]) {
        return body;
    }
    let mut plain = Vec::new();
    // An error is a body that is truncated or damaged: what came before it counts.
    let _ = MultiGzDecoder::new(body.as_slice()).take(MOST_KEPT as u64).read_to_end(&mut plain);
    // Declared, and not packed: a proxy that unpacked it and left the header.
    if plain.is_empty() { body } else { plain }
}

fn document(body: &[u8]) -> Option<Value> {
    let utf16 = match body {
        [0xff, 0xfe, rest @ ..] => Some((rest, u16::from_le_bytes as fn([u8; 2]) -> u16)),
        [0xfe, 0xff, rest @ ..] => Some((rest, u16::from_be_bytes as fn([u8; 2]) -> u16)),
        _ => None,
    };
    if let Some((rest, unit)) = utf16 {
        let units: Vec<u16> = rest.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        return document(String::from_utf16_lossy(&units).as_bytes());
    }
    let body = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body);
    match serde_json::from_slice::<Value>(body) {
        // JSON that was serialised twice.
        Ok(Value::String(text)) if text.starts_with('{') => document(text.as_bytes()),
        Ok(value) => Some(value),
        Err(_) => salvage(body),
    }
}
