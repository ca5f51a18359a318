//! The body as a stream of frames for the HTTP client.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use base64::{Engine, encoded_len};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::{sync::mpsc, time::Instant};

use super::{BodyPlan, Part, Permit, glance::Glance};
use crate::{
    Error,
    values::{Mutex, base64_text::STANDARD},
};

/// The maximum length of a frame. Each frame except the first counts as progress, so frames must be
/// small enough for a slow connection. A short text body is one frame.
pub(super) const FRAME: usize = 64 * 1024;

/// Raw bytes per base64-encoded frame. A multiple of 3, so that frames can be joined without
/// padding.
pub(super) const RAW_FRAME: usize = FRAME / 4 * 3;

/// The body of one attempt.
pub(crate) struct StreamedBody {
    plan: Arc<BodyPlan>,
    /// The index of the next part, and how many of its bytes have been encoded.
    part: usize,
    offset: usize,
    /// Bytes that are ready, but that the HTTP client has not taken yet.
    written: Bytes,
    /// The chunks of the file that is being read.
    file: Option<mpsc::Receiver<io::Result<Bytes>>>,
    left: u64,
    pool: Arc<Pool>,
    progress: Arc<Progress>,
    /// Called when the HTTP client asks for the first frame.
    permit: Option<Permit>,
    /// Whether the HTTP client has just taken a frame. The next poll then returns `Pending`, so
    /// that the HTTP client can write this frame.
    has_given: bool,
    /// Completes before each frame except the first.
    ///
    /// A service may respond and close the connection before the upload ends. If the HTTP client
    /// writes to the closed connection before it reads the response, the write fails and the
    /// response is lost. The HTTP client only knows that a response has arrived after the runtime
    /// has asked the operating system for socket events.
    glance: Glance,
}

impl StreamedBody {
    /// Creates the body of one attempt. The body must be polled within a tokio runtime. If `permit`
    /// is set, it is called when the HTTP client asks for the first frame. If it fails, the body
    /// returns an error instead of this frame.
    pub(crate) fn new(
        plan: Arc<BodyPlan>,
        progress: Arc<Progress>,
        permit: Option<Permit>,
    ) -> Self {
        let left = plan.length;
        Self {
            plan,
            part: 0,
            offset: 0,
            written: Bytes::new(),
            file: None,
            left,
            pool: Arc::default(),
            progress,
            permit,
            has_given: false,
            glance: Glance::default(),
        }
    }

    /// Produces the next bytes of the body. Images in memory are encoded on the current thread,
    /// because encoding a frame takes only microseconds, less than encrypting it.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let plan = Arc::clone(&self.plan);
        while let Some(part) = plan.parts.get(self.part) {
            match part {
                Part::Ready(text) => {
                    self.part += 1;
                    return Poll::Ready(Some(Ok(text.clone())));
                }
                Part::Encode(bytes) if self.offset < bytes.len() => {
                    let end = bytes.len().min(self.offset + RAW_FRAME);
                    let mut frame = self.pool.buffer();
                    frame.encode(bytes.get(self.offset..end).unwrap_or_default());
                    self.offset = end;
                    return Poll::Ready(Some(Ok(Bytes::from_owner(frame))));
                }
                Part::Encode(_) => self.offset = 0,
                Part::File(file) => {
                    let chunks =
                        self.file.get_or_insert_with(|| file.read(&self.pool, &self.progress));
                    if let Some(chunk) = ready!(chunks.poll_recv(cx)) {
                        return Poll::Ready(Some(chunk));
                    }
                    self.file = None;
                }
            }
            self.part += 1;
        }
        Poll::Ready(None)
    }
}

impl http_body::Body for StreamedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let Some(permit) = self.permit.take()
            && let Err(error) = permit()
        {
            self.progress.fail(error);
            return Poll::Ready(Some(Err(io::Error::other("the journal refused the attempt"))));
        }
        if std::mem::take(&mut self.has_given) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        while self.written.is_empty() {
            self.written = match ready!(self.poll_write(cx)) {
                Some(Ok(bytes)) => bytes,
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            };
        }
        let is_first = self.left == self.plan.length;
        if !is_first {
            ready!(self.glance.poll(cx));
        }
        self.has_given = true;
        let progress = Arc::clone(&self.progress);
        let mut sent = progress.0.lock();
        if sent.is_stopped {
            return Poll::Ready(Some(Err(io::Error::other("the deadline passed"))));
        }
        // The HTTP client takes the first frame before it sends anything, so that frame is not
        // progress.
        if !is_first {
            sent.last_frame_at = Instant::now();
        }
        let length = self.written.len().min(FRAME);
        let frame = self.written.split_to(length);
        self.left = self.left.saturating_sub(length as u64);
        sent.all_frames_taken |= self.left == 0;
        Poll::Ready(Some(Ok(Frame::data(frame))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

/// Reuses buffers, because the allocator would return the pages of every large buffer to the
/// operating system and request them again.
#[derive(Default)]
pub(super) struct Pool(Mutex<Vec<Vec<u8>>>);

/// A buffer with base64, which returns to its pool when it is dropped.
pub(super) struct Pooled {
    buffer: Vec<u8>,
    length: usize,
    pool: Arc<Pool>,
}

impl Pool {
    /// Returns an empty buffer.
    pub(super) fn buffer(self: &Arc<Self>) -> Pooled {
        let kept = self.0.lock().pop();
        Pooled { buffer: kept.unwrap_or_default(), length: 0, pool: Arc::clone(self) }
    }
}

impl Pooled {
    /// Appends the base64 of `raw`. All pieces but the last must have a multiple of 3 bytes.
    pub(super) fn encode(&mut self, raw: &[u8]) {
        let needed = self.length + encoded_len(raw.len(), true).unwrap_or_default();
        if self.buffer.len() < needed {
            self.buffer.resize(needed, 0);
        }
        // The only possible error is a buffer that is too small, which the resize prevents.
        let room = self.buffer.get_mut(self.length..).unwrap_or_default();
        self.length += STANDARD.encode_slice(raw, room).unwrap_or_default();
    }
}

impl AsRef<[u8]> for Pooled {
    fn as_ref(&self) -> &[u8] {
        self.buffer.get(..self.length).unwrap_or_default()
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        let mut kept = self.pool.0.lock();
        kept.push(std::mem::take(&mut self.buffer));
    }
}

/// The progress of one attempt.
pub(crate) struct Progress(Mutex<Sent>);

/// How much of a body the HTTP client has taken, and why the body ended early.
struct Sent {
    last_frame_at: Instant,
    all_frames_taken: bool,
    is_stopped: bool,
    failure: Option<Error>,
}

impl Progress {
    pub(crate) fn start() -> Self {
        let last_frame_at = Instant::now();
        Self(Mutex::new(Sent {
            last_frame_at,
            all_frames_taken: false,
            is_stopped: false,
            failure: None,
        }))
    }

    /// Returns when the HTTP client last took a frame of the body. Before it has taken the second
    /// frame, this is the start of the exchange.
    pub(crate) fn last_frame_at(&self) -> Instant {
        self.0.lock().last_frame_at
    }

    /// Returns whether the HTTP client has taken the last frame of the body.
    ///
    /// `true` does not mean that the service has the whole body, because the HTTP client may still
    /// buffer the frame. `false` means that the service cannot have the whole body and cannot have
    /// accepted the submission.
    pub(crate) fn all_frames_taken(&self) -> bool {
        self.0.lock().all_frames_taken
    }

    /// Ends the body before its last frame. Returns `false` if the HTTP client has taken that
    /// frame.
    pub(crate) fn stop(&self) -> bool {
        let mut sent = self.0.lock();
        sent.is_stopped = !sent.all_frames_taken;
        sent.is_stopped
    }

    /// Returns why the body ended early, if it did. The next call returns `None`.
    pub(crate) fn take_failure(&self) -> Option<Error> {
        self.0.lock().failure.take()
    }

    pub(super) fn fail(&self, failure: Error) {
        // Keep the first failure, because it ended the upload.
        self.0.lock().failure.get_or_insert(failure);
    }
}
