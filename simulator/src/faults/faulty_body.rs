//! Faulty response bodies.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use axum::body::{Body, Bytes};
use futures_util::{StreamExt as _, stream};
use http_body::{Frame, SizeHint};

use crate::http::Cut;

/// The first half of some bytes, followed by the end of the connection.
pub(crate) fn cut_short(bytes: &Bytes, cut: Cut) -> Body {
    let half = bytes.slice(..bytes.len() / 2);
    let end = async move {
        // The server flushes what it has while no more data is available.
        tokio::task::yield_now().await;
        Err(cut)
    };
    Body::from_stream(stream::iter([Ok(half)]).chain(stream::once(end)))
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
