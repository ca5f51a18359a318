//! Request and response bodies, with timeouts and limits.

use std::{
    error::Error,
    future::poll_fn,
    ops::Deref,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{
    BoxError,
    body::{Body, Bytes},
    http::{HeaderMap, header},
};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::{
    task::yield_now,
    time::{Sleep, sleep},
};

use super::{
    activity::{Activity, Cut, PendingResponse, Working},
    budget::Share,
};

/// The number of bytes of a response to hand over at once. Connections keep buffers of this size.
const FRAME_BYTES: usize = 16 << 10;

/// The client took too long to send its body.
#[derive(Debug, thiserror::Error)]
#[error("the client took too long to send its body")]
struct TooSlow;

/// The body of a request, which fails with [`TooSlow`] if it is not complete in time.
pub(crate) struct Timed {
    body: Incoming,
    timeout: Duration,
    /// Starts when the body is first waited for.
    timer: Option<Pin<Box<Sleep>>>,
    /// Set when this is dropped before the end.
    unread: Arc<AtomicBool>,
}

impl Timed {
    /// The body, and a flag that is set if it is not read to its end.
    pub(crate) fn new(body: Incoming, timeout: Duration) -> (Self, Arc<AtomicBool>) {
        let unread = Arc::new(AtomicBool::new(false));
        (Self { body, timeout, timer: None, unread: Arc::clone(&unread) }, unread)
    }
}

impl Drop for Timed {
    fn drop(&mut self) {
        self.unread.store(!self.body.is_end_stream(), Ordering::Relaxed);
    }
}

impl http_body::Body for Timed {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            // Without this check, an endless series of frames would never reach the timer.
            let over = self.timer.as_ref().is_some_and(|timer| timer.is_elapsed());
            return Poll::Ready(match frame {
                Some(Ok(_)) if over => Some(Err(TooSlow.into())),
                frame => frame.map(|frame| frame.map_err(Into::into)),
            });
        }
        let timeout = self.timeout;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(timeout)));
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Some(Err(TooSlow.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of a response, which tells its connection whether it waits for the service or the
/// client.
pub(crate) struct TrackedBody {
    body: Body,
    activity: Arc<Activity>,
    /// The rest of a large part.
    rest: Bytes,
    /// Held while the body waits for the service.
    working: Option<Working>,
    _response: PendingResponse,
}

impl TrackedBody {
    pub(crate) fn new(body: Body, activity: Arc<Activity>) -> Self {
        let rest = Bytes::new();
        Self { body, _response: activity.respond(), working: None, rest, activity }
    }

    /// The next part of `data`; the rest is kept.
    fn part(&mut self, mut data: Bytes) -> Frame<Bytes> {
        let part = data.split_to(data.len().min(FRAME_BYTES));
        self.rest = data;
        Frame::data(part)
    }
}

impl http_body::Body for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.activity.progressed();
        if !self.rest.is_empty() {
            let rest = std::mem::take(&mut self.rest);
            return Poll::Ready(Some(Ok(self.part(rest))));
        }
        let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) else {
            if self.working.is_none() {
                self.working = Some(self.activity.work());
            }
            return Poll::Pending;
        };
        self.working = None;
        if let Some(Err(error)) = &frame
            && let Some(cut) = cut_in(error)
        {
            self.activity.cut_with(cut);
        }
        Poll::Ready(frame.map(|frame| {
            frame.map(|frame| match frame.into_data() {
                Ok(data) => self.part(data),
                Err(trailers) => trailers,
            })
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (left, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(left.lower().saturating_add(rest));
        if let Some(upper) = left.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint
    }
}

fn cut_in(error: &axum::Error) -> Option<Cut> {
    causes(error).find_map(|cause| cause.downcast_ref::<Cut>().copied())
}

/// Why a body could not be read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BodyError {
    /// It is larger than the limit.
    TooLarge,
    /// Other bodies take the memory.
    NoRoom,
    /// The client took too long.
    TooSlow,
    /// The connection failed.
    Broken,
}

/// A body, and its share of the memory for bodies.
pub(crate) struct ReadBody {
    bytes: Vec<u8>,
    share: Option<Share>,
}

impl Deref for ReadBody {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl ReadBody {
    fn add(&mut self, data: &[u8], limit: usize) -> Result<(), BodyError> {
        if data.len() > limit.saturating_sub(self.bytes.len()) {
            return Err(BodyError::TooLarge);
        }
        if let Some(share) = &mut self.share {
            share.take(data.len()).map_err(|_| BodyError::NoRoom)?;
        }
        self.bytes.extend_from_slice(data);
        Ok(())
    }
}

/// The length of a body, if the headers contain it.
pub(crate) fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Reads a body of at most `limit` bytes. A body that is announced as larger is not read.
pub(crate) async fn read(
    headers: &HeaderMap,
    body: &mut Body,
    limit: usize,
    share: Option<Share>,
) -> Result<ReadBody, BodyError> {
    if announced(headers).is_some_and(|length| length > limit as u64) {
        return Err(BodyError::TooLarge);
    }
    let mut read = ReadBody { bytes: Vec::new(), share };
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => read.add(frame.data_ref().map_or(&[], |data| data), limit)?,
            Err(error) if causes(&error).any(|cause| cause.is::<TooSlow>()) => {
                return Err(BodyError::TooSlow);
            }
            Err(_) => return Err(BodyError::Broken),
        }
    }
    Ok(read)
}

/// Discards what has arrived of a body, without waiting for the rest. If that is all of it, the
/// connection can be used for further requests.
pub(crate) async fn discard_arrived(headers: &HeaderMap, body: &mut Body) {
    // Reading would tell the client to send the body.
    if headers.contains_key(header::EXPECT) {
        return;
    }
    let (mut discarded, mut yielded) = (0, false);
    while discarded < MAX_DISCARDED {
        match poll_fn(|cx| Poll::Ready(Pin::new(&mut *body).poll_frame(cx))).await {
            Poll::Ready(Some(Ok(frame))) => {
                discarded += frame.data_ref().map_or(0, Bytes::len);
                yielded = false;
            }
            Poll::Ready(_) => return,
            Poll::Pending if yielded => return,
            // The connection passes on the next part while this task does not run.
            Poll::Pending => {
                yielded = true;
                yield_now().await;
            }
        }
    }
}

/// How much of a body is discarded before the response. Of larger ones, it is discarded afterwards.
const MAX_DISCARDED: usize = 64 << 10;

/// The error and its sources.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}
