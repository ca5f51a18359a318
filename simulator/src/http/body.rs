//! Request and response bodies, with timeouts and limits.

use std::{
    error::Error,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{
    BoxError,
    body::{Body, Bytes},
    http::{HeaderMap, header},
};
use http_body::{Frame, SizeHint};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use tokio::time::{Sleep, sleep};

use super::activity::{Activity, Cut, PendingResponse, Working};

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
}

impl Timed {
    pub(crate) fn new(body: Incoming, timeout: Duration) -> Self {
        Self { body, timeout, timer: None }
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
    /// Held while the body waits for the service.
    working: Option<Working>,
    _response: PendingResponse,
}

impl TrackedBody {
    pub(crate) fn new(body: Body, activity: Arc<Activity>) -> Self {
        Self { body, _response: activity.respond(), working: None, activity }
    }
}

impl http_body::Body for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
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
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
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
    /// The client took too long.
    TooSlow,
    /// The connection failed.
    Broken,
}

/// Reads a body of at most `limit` bytes. A body that is announced as larger is not read.
pub(crate) async fn read(
    headers: &HeaderMap,
    body: &mut Body,
    limit: usize,
) -> Result<Bytes, BodyError> {
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > limit as u64) {
        return Err(BodyError::TooLarge);
    }
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(BodyError::TooLarge),
        Err(error) if causes(&*error).any(|cause| cause.is::<TooSlow>()) => Err(BodyError::TooSlow),
        Err(_) => Err(BodyError::Broken),
    }
}

/// The error and its sources.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}
