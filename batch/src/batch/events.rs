//! Delivers changes of jobs to callbacks and streams.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::Stream;
use tokio::sync::mpsc;

use crate::JobStatus;

type OnChange = Arc<dyn Fn(&JobStatus) + Send + Sync>;

/// The receivers of changes.
#[derive(Clone, Default)]
pub(super) struct Sinks {
    pub(super) call: Option<OnChange>,
    streams: Vec<mpsc::UnboundedSender<JobStatus>>,
}

impl Sinks {
    pub(super) fn stream(&mut self) -> Events {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.streams.push(sender);
        Events(receiver)
    }

    pub(super) fn changed(&self, job: &JobStatus) {
        if let Some(call) = &self.call {
            call(job);
        }
        for stream in &self.streams {
            // Fails only if the stream was dropped.
            let _ = stream.send(job.clone());
        }
    }
}

/// A stream of the changes of jobs, returned by [`Batch::events`](super::Batch::events).
#[derive(Debug)]
#[must_use = "streams do nothing unless they are polled"]
pub struct Events(mpsc::UnboundedReceiver<JobStatus>);

impl Events {
    /// Returns the next status, or `None` after the batch was dropped.
    pub async fn next(&mut self) -> Option<JobStatus> {
        self.0.recv().await
    }
}

impl Stream for Events {
    type Item = JobStatus;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<JobStatus>> {
        self.0.poll_recv(cx)
    }
}
