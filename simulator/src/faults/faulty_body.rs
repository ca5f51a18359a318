//! Faulty response bodies.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};

use crate::http::Cut;

/// The first half of some bytes, followed by the end of the connection.
pub(crate) struct CutShort {
    half: Option<Bytes>,
    handed_over: bool,
    cut: Cut,
}

impl CutShort {
    pub(crate) fn new(bytes: Bytes, cut: Cut) -> Self {
        let half = bytes.slice(..bytes.len() / 2);
        Self { half: Some(half), handed_over: false, cut }
    }
}

impl http_body::Body for CutShort {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        if let Some(half) = self.half.take() {
            return Poll::Ready(Some(Ok(Frame::data(half))));
        }
        // The server flushes what it has while no more data is available.
        if !self.handed_over {
            self.handed_over = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Some(Err(self.cut)))
    }
}

type Pause = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A body that starts after a pause.
pub(super) struct Late {
    pause: Option<Pause>,
    body: Body,
}

impl Late {
    pub(super) fn new(pause: impl Future<Output = ()> + Send + 'static, body: Body) -> Self {
        Self { pause: Some(Box::pin(pause)), body }
    }
}

impl http_body::Body for Late {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(context));
            self.pause = None;
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
