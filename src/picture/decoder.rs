//! Decompresses deliveries. The client does not request compression, but an object may be stored
//! compressed, or a proxy may compress the response.

use std::{
    io::{self, Write as _},
    mem,
};

use bytes::Bytes;
use flate2::write::{MultiGzDecoder, ZlibDecoder};
use reqwest::header::{CONTENT_ENCODING, HeaderMap};

/// The first bytes of gzip data. No picture starts with these bytes, so the decoder trusts them
/// more than the header `Content-Encoding`: a proxy may decompress a body and leave the header
/// unchanged.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The body of a response, decompressed in pieces of bounded size.
pub(super) struct Decoder {
    state: State,
    /// The bytes that have arrived and are not decoded yet.
    encoded: Bytes,
    is_deflate: bool,
}

enum State {
    /// The first two bytes have not arrived.
    New,
    Plain,
    Compressed(Codec),
    /// The compressed data has ended, or is damaged.
    Ended,
}

enum Codec {
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
    Zlib(Box<ZlibDecoder<Vec<u8>>>),
}

impl Decoder {
    pub(super) fn new(headers: &HeaderMap) -> Self {
        let is_deflate = encoding(headers).is_some_and(|name| name.contains("deflate"));
        Self { state: State::New, encoded: Bytes::new(), is_deflate }
    }

    /// Adds a chunk. Call [`next`](Self::next) until it returns `None` first, because undecoded
    /// bytes are copied.
    pub(super) fn push(&mut self, chunk: Bytes) {
        if self.encoded.is_empty() {
            self.encoded = chunk;
        } else {
            self.encoded = [&self.encoded[..], &chunk].concat().into();
        }
        if matches!(self.state, State::New) && self.encoded.len() >= GZIP.len() {
            self.start();
        }
    }

    fn start(&mut self) {
        let [first, second] = [0, 1].map(|place| self.encoded.get(place).copied().unwrap_or(0));
        let is_zlib = first & 0x0f == 8 && u16::from_be_bytes([first, second]) % 31 == 0;
        self.state = if [first, second] == GZIP {
            State::Compressed(Codec::Gzip(Box::new(MultiGzDecoder::new(Vec::new()))))
        } else if self.is_deflate && is_zlib {
            State::Compressed(Codec::Zlib(Box::new(ZlibDecoder::new(Vec::new()))))
        } else {
            State::Plain
        };
    }

    /// Returns whether the compressed data has ended, so that the rest of the body does not belong
    /// to the picture.
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.state, State::Ended)
    }

    /// Returns the next decoded piece, or `None` if more bytes have to arrive first.
    pub(super) fn next(&mut self) -> Option<Bytes> {
        match &mut self.state {
            State::New | State::Ended => None,
            State::Plain => Some(mem::take(&mut self.encoded)).filter(|piece| !piece.is_empty()),
            State::Compressed(codec) => {
                while !self.encoded.is_empty() {
                    let outcome = codec.write(&self.encoded);
                    let piece = mem::take(codec.output());
                    match outcome {
                        Ok(consumed) if consumed > 0 => {
                            self.encoded = self.encoded.slice(consumed..);
                        }
                        // The compressed data has ended or is damaged. The rest of the body is
                        // ignored.
                        _ => return self.finish().map(|rest| [&piece[..], &rest].concat().into()),
                    }
                    if !piece.is_empty() {
                        return Some(piece.into());
                    }
                }
                None
            }
        }
    }

    /// Returns the remaining bytes at the end of the response.
    pub(super) fn finish(&mut self) -> Option<Bytes> {
        match mem::replace(&mut self.state, State::Ended) {
            State::Compressed(mut codec) => {
                // An error is ignored, because the checker of the picture detects a truncated file.
                let _ = codec.finish();
                Some(mem::take(codec.output()).into())
            }
            _ => Some(mem::take(&mut self.encoded)),
        }
    }
}

impl Codec {
    /// Decompresses at most a few dozen KiB, which bounds the memory for a small body that expands
    /// to a huge one.
    fn write(&mut self, encoded: &[u8]) -> io::Result<usize> {
        match self {
            Self::Gzip(decoder) => decoder.write(encoded),
            Self::Zlib(decoder) => decoder.write(encoded),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Gzip(decoder) => decoder.try_finish(),
            Self::Zlib(decoder) => decoder.try_finish(),
        }
    }

    fn output(&mut self) -> &mut Vec<u8> {
        match self {
            Self::Gzip(decoder) => decoder.get_mut(),
            Self::Zlib(decoder) => decoder.get_mut(),
        }
    }
}

/// Returns the header `Content-Encoding` in lower case.
pub(super) fn encoding(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_ENCODING)?;
    Some(String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase())
}
