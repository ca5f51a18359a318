//! The body as a stream of frames for the HTTP client.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::mpsc;

use super::{BodyFailure, BodyPlan, Part, Permit, Progress, pool::Pool};

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
    /// Bytes that are ready but not taken yet.
    written: Bytes,
    /// The chunks of the file being read.
    file: Option<mpsc::Receiver<io::Result<Bytes>>>,
    left: u64,
    pool: Arc<Pool>,
    progress: Arc<Progress>,
    /// Taken with the first frame.
    permit: Option<Permit>,
}

impl StreamedBody {
    /// The body must be polled within a tokio runtime. If `permit` is set and fails when the HTTP
    /// client takes the first frame, the body has no frames.
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
        }
    }

    /// Produces more of the body. Encodes bytes in place: a frame takes microseconds, less than its
    /// encryption.
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
            self.progress.fail(BodyFailure::Refused(error));
            return Poll::Ready(Some(Err(io::Error::other("the journal refused the attempt"))));
        }
        while self.written.is_empty() {
            self.written = match ready!(self.poll_write(cx)) {
                Some(Ok(bytes)) => bytes,
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            };
        }
        // The HTTP client takes the first frame before it sends anything, so that frame is not
        // progress.
        if self.left < self.plan.length {
            self.progress.count_frame();
        }
        let length = self.written.len().min(FRAME);
        let frame = self.written.split_to(length);
        self.left = self.left.saturating_sub(length as u64);
        if self.left == 0 {
            self.progress.set_all_frames_taken();
        }
        Poll::Ready(Some(Ok(Frame::data(frame))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
