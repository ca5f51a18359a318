//! Limits how long `submit` waits for the submission. The submission itself is not cancelled.

use std::time::Duration;

use tokio::time::{self, Instant};

use super::refusal::unknown;
use crate::{Error, ErrorKind};

pub(super) struct Deadline {
    limit: Duration,
    until: Option<Instant>,
}

impl Deadline {
    /// Starts the deadline now.
    pub(super) fn new(limit: Option<Duration>) -> Self {
        let until = limit.map(|limit| Instant::now() + limit);
        Self { limit: limit.unwrap_or_default(), until }
    }

    /// Returns the outcome of `future`, or `None` if the deadline passes first.
    pub(super) async fn limit<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        match self.until {
            Some(until) => time::timeout_at(until, future).await.ok(),
            None => Some(future.await),
        }
    }

    pub(super) fn no_slot(&self) -> Error {
        let message = format!("no slot became free within {} s", self.limit.as_secs_f32());
        Error::new(ErrorKind::Deadline, message)
            .with_advice("nothing was sent; wait for a task to finish, or allow more active tasks")
            .with_function("ClientBuilder::max_active_tasks")
    }

    pub(super) fn no_response(&self) -> Error {
        let message = format!("no response to the submission after {} s", self.limit.as_secs_f32());
        let advice = "the submission continues; if the service accepts it, its task can still be \
                      received";
        unknown(Error::new(ErrorKind::Deadline, message))
            .with_advice(advice)
            .with_function("Client::drain")
    }
}
