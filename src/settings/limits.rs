//! Settings of submissions, polls and downloads: checks, caps and deadlines.

use std::{sync::Arc, time::Duration};

use super::ClientBuilder;
use crate::journal::Journal;

impl ClientBuilder {
    /// Whether requests are checked against the contract before they are sent; on by default. Turn
    /// it off on the day that the service is looser than the document: the service's own checks
    /// still hold.
    pub fn validation(mut self, on: bool) -> Self {
        self.tasks.validation = on;
        self
    }

    /// How many polls may be under way at once, over all tasks of the client; 64 by default, at
    /// least 1. More tasks than that can wait: their polls take turns.
    pub fn max_concurrent_polls(mut self, polls: usize) -> Self {
        self.tasks.max_concurrent_polls = polls;
        self
    }

    /// How many tasks may be active at once; no cap by default, at least 1. A task holds its slot
    /// from its submission until a poll of this client or its clones sees its final status, whoever
    /// polls; dropping the [`Task`](crate::Task) does not end it.
    /// [`Client::submit`](crate::Client::submit) waits for a free slot, and meanwhile polls the
    /// tasks that nobody waits for. [`Client::try_submit`](crate::Client::try_submit) does not
    /// wait.
    pub fn max_active_tasks(mut self, tasks: usize) -> Self {
        self.tasks.max_active_tasks = Some(tasks);
        self
    }

    /// The largest picture that is fetched, in bytes; 512 MiB by default. A download that grows
    /// beyond it is given up with an error of kind [`Delivery`](crate::ErrorKind::Delivery), and the task
    /// is still `Ready`.
    pub fn max_picture_bytes(mut self, bytes: u64) -> Self {
        self.deliveries.max_picture_bytes = bytes;
        self
    }

    /// Where the client keeps what it submitted, so that a task outlives its process; nowhere by
    /// default. See [`journal`](crate::journal).
    pub fn journal(mut self, journal: impl Journal + 'static) -> Self {
        self.tasks.journal = Some(Arc::new(journal));
        self
    }

    /// How long [`Client::submit`](crate::Client::submit) may take, waiting for a slot included; no
    /// deadline by default.
    ///
    /// A submission that has begun is not cut, because it may be paid. `submit` returns an error of
    /// kind [`Deadline`](crate::ErrorKind::Deadline) that says whether something was sent, and
    /// [`Client::drain`](crate::Client::drain) returns the task if the service accepts it after all.
    pub fn submit_deadline(mut self, deadline: Duration) -> Self {
        self.tasks.submit_deadline = Some(deadline);
        self
    }

    /// How long one poll may take; 30 seconds by default. A poll that takes longer has failed, and
    /// the next one follows. How long to wait for a task in all is the deadline of
    /// [`WaitOptions`](crate::WaitOptions).
    pub fn poll_deadline(mut self, deadline: Duration) -> Self {
        self.tasks.poll_deadline = deadline;
        self
    }

    /// How long fetching a picture may take, with all retries; one hour by default.
    pub fn download_deadline(mut self, deadline: Duration) -> Self {
        self.deliveries.deadline = deadline;
        self
    }
}
