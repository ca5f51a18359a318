//! Bodies that know when they wait, and for whom.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::BoxError;
use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Sleep, sleep};

use super::pulse::{Answer, Cut, Pulse, Work};

/// The client took too long to send its body.
#[derive(Debug, thiserror::Error)]
#[error("the client took too long to send its body")]
struct TooSlow;

/// The body of a request, which fails with [`TooSlow`] where it is not whole in time.
pub(crate) struct Timed {
    body: Incoming,
    timeout: Duration,
    /// From when the body was first waited for.
    patience: Option<Pin<Box<Sleep>>>,
}

impl Timed {
    pub(crate) fn new(body: Incoming, timeout: Duration) -> Self {
        Self { body, timeout, patience: None }
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
            // Frames without end would never let the timer be looked at.
            let over = self.patience.as_ref().is_some_and(|patience| patience.is_elapsed());
            return Poll::Ready(match frame {
                Some(Ok(_)) if over => Some(Err(TooSlow.into())),
                frame => frame.map(|frame| frame.map_err(Into::into)),
            });
        }
        let timeout = self.timeout;
        let patience = self.patience.get_or_insert_with(|| Box::pin(sleep(timeout)));
        ready!(patience.as_mut().poll(cx));
        Poll::Ready(Some(Err(TooSlow.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of an answer, which tells its connection whether the service or the client is to act.
pub(crate) struct Watched {
    body: Body,
    pulse: Arc<Pulse>,
    /// Held while the service itself does not go on.
    held_back: Option<Work>,
    _answer: Answer,
}

impl Watched {
    pub(crate) fn new(body: Body, pulse: Arc<Pulse>) -> Self {
        Self { body, _answer: pulse.answer(), held_back: None, pulse }
    }
}

impl http_body::Body for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) else {
            if self.held_back.is_none() {
                self.held_back = Some(self.pulse.work());
            }
            return Poll::Pending;
        };
        self.held_back = None;
        if let Some(Err(error)) = &frame
            && let Some(cut) = cut_in(error)
        {
            self.pulse.cut_off(cut);
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

/// Whether reading a body failed because its client took too long.
pub(crate) fn is_too_slow(error: &(dyn Error + 'static)) -> bool {
    causes(error).any(|cause| cause.is::<TooSlow>())
}

/// The error and what lies behind it.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}
