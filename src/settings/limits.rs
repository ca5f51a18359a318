//! Settings of submissions, polls and downloads: validation, limits and deadlines.

use std::{sync::Arc, time::Duration};

use super::{ClientBuilder, check::bounded};
use crate::journal::Journal;

impl ClientBuilder {
    /// Sets whether requests are validated against the contract before they are sent. The default
    /// is `true`.
    ///
    /// Turn it off if the service accepts more than the contract allows. The service still performs
    /// its own validation.
    pub fn validation(mut self, on: bool) -> Self {
        self.tasks.validation = on;
        self
    }

    /// Sets the maximum number of concurrent polls over all tasks of the client. The default is 64;
    /// the minimum is 1.
    ///
    /// More tasks than that can wait; their polls take turns.
    pub fn max_concurrent_polls(mut self, polls: usize) -> Self {
        self.tasks.max_concurrent_polls = polls;
        self
    }

    /// Sets the maximum number of active tasks. There is no limit by default; the minimum is 1.
    ///
    /// A task holds a slot from its submission until any poll by this client or its clones returns
    /// a final status. Dropping the [`Task`](crate::Task) does not free its slot.
    /// [`Client::submit`](crate::Client::submit) waits for a free slot, and meanwhile polls the
    /// tasks without an active wait. [`Client::try_submit`](crate::Client::try_submit) does not
    /// wait.
    pub fn max_active_tasks(mut self, tasks: usize) -> Self {
        self.tasks.max_active_tasks = Some(tasks);
        self
    }

    /// Sets the maximum size of a picture in bytes. The default is 512 MiB.
    ///
    /// A larger download fails with an error of kind [`Download`](crate::ErrorKind::Download). The
    /// task remains `Ready`.
    pub fn max_picture_bytes(mut self, bytes: u64) -> Self {
        self.downloads.max_picture_bytes = bytes;
        self
    }

    /// Sets the journal that records submissions, so that tasks outlive the process. There is no
    /// journal by default. See [`journal`](crate::journal).
    pub fn journal(mut self, journal: impl Journal + 'static) -> Self {
        self.tasks.journal = Some(Arc::new(journal));
        self
    }

    /// Sets the maximum duration of [`Client::submit`](crate::Client::submit), including the wait
    /// for a slot. There is no deadline by default.
    ///
    /// The deadline does not cancel a submission that has started, because it may be billed.
    /// `submit` returns an error of kind [`Deadline`](crate::ErrorKind::Deadline), whose advice
    /// says whether anything was sent. If the service accepts the task later,
    /// [`Client::drain`](crate::Client::drain) returns it.
    pub fn submit_deadline(mut self, deadline: Duration) -> Self {
        self.tasks.submit_deadline = Some(bounded(deadline));
        self
    }

    /// Sets the maximum duration of one poll. The default is 30 seconds.
    ///
    /// A longer poll fails, and the client sends the next one. The deadline of the whole wait is
    /// part of [`WaitOptions`](crate::WaitOptions).
    pub fn poll_deadline(mut self, deadline: Duration) -> Self {
        self.tasks.poll_deadline = bounded(deadline);
        self
    }

    /// Sets the maximum duration of a download with all retries. The default is one hour.
    pub fn download_deadline(mut self, deadline: Duration) -> Self {
        self.downloads.deadline = bounded(deadline);
        self
    }
}
