//! Reads request bodies, with timeouts and limits, and tracks response bodies.

use std::{
    error::Error,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, StatusCode, header, request::Parts},
};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt as _;
use tokio::{sync::OwnedSemaphorePermit, task::yield_now, time::timeout};

use super::{
    activity::{Cut, Exchange},
    response::Problem,
};

/// The body of a response. It tells its connection whether the client is waiting for the service,
/// or the service for the client.
pub(super) struct TrackedBody {
    pub(super) body: Body,
    pub(super) exchange: Exchange,
}

impl http_body::Body for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        match &frame {
            Poll::Pending => self.exchange.set_working(true),
            Poll::Ready(Some(Err(error))) => {
                if let Some(cut) = cut_in(error) {
                    self.exchange.activity.cut_with(cut);
                }
            }
            Poll::Ready(_) => self.exchange.set_working(false),
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn cut_in(error: &axum::Error) -> Option<Cut> {
    let error = error as &(dyn Error + 'static);
    let mut causes = std::iter::successors(Some(error), |&error| error.source());
    causes.find_map(|cause| cause.downcast_ref::<Cut>().copied())
}

/// The part that one body takes of the memory for all bodies, in bytes. Dropping it returns the
/// memory.
pub(crate) type Share = OwnedSemaphorePermit;

/// Takes more memory, if there is enough. A body may take at most as much as it leaves free, so
/// that a few large bodies cannot keep small ones out.
fn take(share: &mut Share, bytes: usize) -> Option<()> {
    let budget = Arc::clone(share.semaphore());
    let left = budget.available_permits().checked_sub(bytes)?;
    if share.num_permits().saturating_add(bytes) > left {
        return None;
    }
    share.merge(budget.try_acquire_many_owned(u32::try_from(bytes).ok()?).ok()?);
    Some(())
}

/// A body, with its share of the memory for bodies.
pub(crate) struct ReadBody {
    pub(crate) bytes: Vec<u8>,
    _share: Option<Share>,
}

fn too_large(limit: usize) -> Problem {
    let detail = format!("The request body is larger than {limit} bytes");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
}

/// The length of a body, if the headers of the request announce it.
pub(crate) fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Reads a body of at most `limit` bytes. If the headers announce a larger body, fails without
/// reading any of it. Fails, too, if the other bodies take too much of the memory, if the client
/// does not send the body in time, or if the connection fails.
pub(crate) async fn read(
    head: &Parts,
    body: &mut Body,
    limit: usize,
    mut share: Option<Share>,
    time: Duration,
) -> Result<ReadBody, Problem> {
    if announced(&head.headers).is_some_and(|length| length > limit as u64) {
        return Err(too_large(limit));
    }
    let mut bytes = Vec::new();
    let all = async {
        while let Some(frame) = body.frame().await {
            let broken = |_| Problem::malformed("The request body could not be read");
            let frame = frame.map_err(broken)?;
            let Ok(data) = frame.into_data() else { continue };
            if data.len() > limit.saturating_sub(bytes.len()) {
                return Err(too_large(limit));
            }
            if let Some(share) = &mut share {
                let detail = "Too many large requests are arriving at the same time";
                let busy = || Problem::busy(Duration::from_secs(1), detail);
                take(share, data.len()).ok_or_else(busy)?;
            }
            bytes.extend_from_slice(&data);
        }
        Ok::<_, Problem>(())
    };
    timeout(time, all).await.map_err(|_| {
        let detail = "The request body did not arrive in time";
        Problem::new(StatusCode::REQUEST_TIMEOUT, detail)
    })??;
    Ok(ReadBody { bytes, _share: share })
}

/// The maximum number of bytes of a rejected body to discard before the response is sent. The rest
/// of a larger body is discarded after the response.
const MAX_DISCARDED: usize = 64 << 10;

/// Discards the part of a rejected request's body that has already arrived, without waiting for the
/// rest. Returns whether that was the whole body, so that the connection can serve further
/// requests.
pub(crate) async fn discard_arrived(head: &Parts, body: &mut Body) -> bool {
    // Do not read if the client waits for permission, because reading would ask the client to send
    // the body.
    let mut left = if head.headers.contains_key(header::EXPECT) { 0 } else { MAX_DISCARDED };
    let mut yielded = false;
    while left > 0 {
        match poll_fn(|cx| Poll::Ready(Pin::new(&mut *body).poll_frame(cx))).await {
            Poll::Ready(Some(Ok(frame))) => {
                left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
                yielded = false;
            }
            Poll::Ready(_) => break,
            Poll::Pending if yielded => break,
            // Yield once: the connection can pass on the next part only while this task does not
            // run.
            Poll::Pending => {
                yielded = true;
                yield_now().await;
            }
        }
    }
    body.is_end_stream()
}
