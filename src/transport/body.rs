//! The JSON body of a submission, written as it is sent: images are read and encoded chunk by chunk, and the length is
//! known before the first byte.

use std::{
    fs::File,
    io::{self, Read},
    path::PathBuf,
    pin::Pin,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use base64::{Engine, encoded_len, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::{sync::mpsc, time::Instant};

use crate::{ImageSource, contract::FieldValue, contract::Request};

/// Raw bytes a chunk: a multiple of 3, so that encoded chunks join without padding. Smaller unpooled chunks make the
/// allocator give pages back and take them again.
const CHUNK: usize = 384 * 1024;

/// Encoded chunks on their way: one being sent, and one ready behind it.
const AHEAD: usize = 2;

/// A submission's body, from which the bytes to send can be made again for a retry.
pub(crate) struct BodyPlan {
    parts: Vec<Part>,
    length: u64,
}

enum Part {
    Ready(Bytes),
    Encode(Bytes),
    File { path: PathBuf, length: u64 },
}

/// What an exchange tells while it is under way.
#[derive(Clone)]
pub(crate) struct Progress(Arc<State>);

struct State {
    started: Instant,
    /// When the exchange last moved, in milliseconds after its start.
    moved_at: AtomicU64,
    handed_over: AtomicBool,
    fault: OnceLock<String>,
}

impl Progress {
    pub(crate) fn start() -> Self {
        Self(Arc::new(State {
            started: Instant::now(),
            moved_at: AtomicU64::new(0),
            handed_over: AtomicBool::new(false),
            fault: OnceLock::new(),
        }))
    }

    /// When the HTTP client last took a part of the body.
    pub(crate) fn last_move(&self) -> Instant {
        self.0.started + Duration::from_millis(self.0.moved_at.load(Ordering::Relaxed))
    }

    fn moved(&self) {
        let after = self.0.started.elapsed().as_millis() as u64;
        self.0.moved_at.store(after, Ordering::Relaxed);
    }

    /// Whether the HTTP client has taken the last part of the body.
    pub(crate) fn is_handed_over(&self) -> bool {
        self.0.handed_over.load(Ordering::Relaxed)
    }

    /// Why an image could not be read to its end, if that is why the upload stopped.
    pub(crate) fn fault(&self) -> Option<&str> {
        self.0.fault.get().map(String::as_str)
    }
}

impl BodyPlan {
    /// Looks up the lengths of files, so it may block. The error names the file.
    pub(crate) fn new(request: &Request) -> io::Result<Self> {
        let mut parts = Vec::new();
        let mut text = Vec::from(b"{");
        for (index, (name, value)) in request.fields.iter().enumerate() {
            if index > 0 {
                text.push(b',');
            }
            serde_json::to_writer(&mut text, name)?;
            text.push(b':');
            match value {
                FieldValue::Json(value) => serde_json::to_writer(&mut text, value)?,
                FieldValue::Image(image) => match image.source() {
                    ImageSource::Url(url) => serde_json::to_writer(&mut text, url.reveal())?,
                    source => {
                        text.push(b'"');
                        parts.push(Part::Ready(std::mem::take(&mut text).into()));
                        parts.push(image_part(source)?);
                        text.push(b'"');
                    }
                },
            }
        }
        text.push(b'}');
        parts.push(Part::Ready(text.into()));
        let length = parts.iter().map(Part::length).sum();
        Ok(Self { parts, length })
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// The body for one attempt. Called within a tokio runtime.
    pub(crate) fn body(self: &Arc<Self>, progress: &Progress) -> reqwest::Body {
        if let [Part::Ready(text)] = self.parts.as_slice() {
            return text.clone().into();
        }
        let (sender, chunks) = mpsc::channel(AHEAD);
        let (plan, state) = (Arc::clone(self), Arc::clone(&progress.0));
        tokio::task::spawn_blocking(move || {
            if let Err(error) = plan.write(&sender) {
                let _ = state.fault.set(error.to_string());
                // The receiver is gone where the attempt was given up; then nobody needs the error.
                let _ = sender.blocking_send(Err(error));
            }
        });
        reqwest::Body::wrap(Streamed { chunks, left: self.length, progress: progress.clone() })
    }

    fn write(&self, sender: &mpsc::Sender<io::Result<Bytes>>) -> io::Result<()> {
        let pool = Arc::new(Pool::default());
        for part in &self.parts {
            let sent = match part {
                // In chunks too, because it may be an image in base64, and chunks are what tells that it moves.
                Part::Ready(text) => (0..text.len()).step_by(CHUNK).all(|start| {
                    let chunk = text.slice(start..text.len().min(start + CHUNK));
                    sender.blocking_send(Ok(chunk)).is_ok()
                }),
                Part::Encode(bytes) => {
                    bytes.chunks(CHUNK).all(|chunk| sender.blocking_send(Ok(pool.encode(chunk))).is_ok())
                }
                Part::File { path, length } => send_file(path, *length, &pool, sender)?,
            };
            if !sent {
                return Ok(());
            }
        }
        Ok(())
    }
}

impl Part {
    fn length(&self) -> u64 {
        match self {
            Self::Ready(text) => text.len() as u64,
            Self::Encode(bytes) => encoded(bytes.len() as u64),
            Self::File { length, .. } => encoded(*length),
        }
    }
}

fn encoded(length: u64) -> u64 {
    length.div_ceil(3) * 4
}

fn image_part(source: &ImageSource) -> io::Result<Part> {
    match source {
        ImageSource::Bytes(bytes) => Ok(Part::Encode(bytes.clone())),
        ImageSource::Path(path) => {
            let metadata = path.metadata().map_err(|error| at_path(path, &error))?;
            if !metadata.is_file() {
                return Err(at_path(path, &io::Error::other("is no regular file")));
            }
            Ok(Part::File { path: path.clone(), length: metadata.len() })
        }
        ImageSource::Base64(text) => Ok(Part::Ready(text.clone())),
        ImageSource::Url(url) => Ok(Part::Ready(Bytes::from(url.reveal().to_owned()))),
    }
}

/// Returns whether the receiver is still there.
fn send_file(
    path: &PathBuf,
    length: u64,
    pool: &Arc<Pool>,
    sender: &mpsc::Sender<io::Result<Bytes>>,
) -> io::Result<bool> {
    let mut file = File::open(path).map_err(|error| at_path(path, &error))?;
    let mut raw = Vec::with_capacity(CHUNK);
    let mut left = length;
    while left > 0 {
        raw.clear();
        let take = left.min(CHUNK as u64);
        (&mut file).take(take).read_to_end(&mut raw).map_err(|error| at_path(path, &error))?;
        if raw.len() as u64 != take {
            return Err(at_path(path, &io::Error::other("became shorter while it was sent")));
        }
        left -= take;
        if sender.blocking_send(Ok(pool.encode(&raw))).is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn at_path(path: &std::path::Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Buffers that come back when the HTTP client is done with them.
#[derive(Default)]
struct Pool(Mutex<Vec<Vec<u8>>>);

struct Pooled {
    buffer: Vec<u8>,
    length: usize,
    pool: Arc<Pool>,
}

impl Pool {
    fn encode(self: &Arc<Self>, raw: &[u8]) -> Bytes {
        let kept = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop();
        let mut buffer = kept.unwrap_or_else(|| vec![0; CHUNK / 3 * 4]);
        let needed = encoded_len(raw.len(), true).unwrap_or(buffer.len());
        if buffer.len() < needed {
            buffer.resize(needed, 0);
        }
        // The buffer is large enough by the two lines above, which is the one way this can fail.
        let length = STANDARD.encode_slice(raw, &mut buffer).unwrap_or(0);
        Bytes::from_owner(Pooled { buffer, length, pool: Arc::clone(self) })
    }
}

impl AsRef<[u8]> for Pooled {
    fn as_ref(&self) -> &[u8] {
        &self.buffer[..self.length]
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        let mut kept = self.pool.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        kept.push(std::mem::take(&mut self.buffer));
    }
}

struct Streamed {
    chunks: mpsc::Receiver<io::Result<Bytes>>,
    left: u64,
    progress: Progress,
}

impl http_body::Body for Streamed {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.chunks.poll_recv(cx).map(|next| {
            let chunk = match next? {
                Ok(chunk) => chunk,
                Err(error) => return Some(Err(error)),
            };
            self.left = self.left.saturating_sub(chunk.len() as u64);
            self.progress.moved();
            if self.left == 0 {
                self.progress.0.handed_over.store(true, Ordering::Relaxed);
            }
            Some(Ok(Frame::data(chunk)))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
