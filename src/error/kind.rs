//! The kinds of errors.

use std::{io, time::Duration};

use tokio::task::JoinError;

use crate::{TaskRef, TaskStatus};

/// The kind of an error, for programs to match on.
///
/// "Safe to repeat" means that repeating the call cannot be billed a second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A setting is missing or invalid. Nothing was sent. Correct the setting.
    Settings,
    /// The program used the SDK in a way that cannot work, for example the blocking client in async
    /// code. Nothing was sent. Correct the program.
    Usage,
    /// The request does not match the contract. The SDK found this before sending, or the service
    /// did (422). Nothing was billed. See [`Error::violations`](crate::Error::violations).
    Validation,
    /// The key is missing, unknown, or has no access to the endpoint (401, 403). Nothing was
    /// billed.
    Auth,
    /// The project has no credits left, or has reached its spending limit (402). Nothing was
    /// billed.
    Payment,
    /// Too many requests or too many active tasks (429), even after retries. Nothing was billed.
    /// Safe to repeat after [`Error::retry_after`](crate::Error::retry_after).
    RateLimited,
    /// The client has stopped submitting, because the service did not say whether it accepted three
    /// submissions in a row, or 6 of the last 30. Each of those may have been billed without a
    /// picture, and more would follow. After a pause, which grows from one second to ten minutes,
    /// the client sends a single submission to find out whether the service works again. Nothing
    /// was sent. Safe to repeat after [`Error::retry_after`](crate::Error::retry_after).
    Outage,
    /// The service could not be reached, or the connection broke. For a submission, see
    /// [`Error::billing`](crate::Error::billing).
    Network,
    /// The service responded with a status code that the contract does not list. For a submission,
    /// see [`Error::billing`](crate::Error::billing).
    /// [`Error::is_transient`](crate::Error::is_transient) returns whether another attempt may
    /// succeed.
    Service,
    /// The service responded with a success code, but the client cannot use the body. The response
    /// to a submission identifies no task, and the submission may have been billed. The response to
    /// a poll has no status, or no delivery URL for a finished task; poll again.
    Response,
    /// The key was not sent to the polling URL, because its host is not allowed to receive the key.
    /// The task continues. Allow the host with
    /// [`ClientBuilder::allow_polling_host`](crate::ClientBuilder::allow_polling_host) and resume
    /// the task.
    KeyWithheld,
    /// The task ended with status `Error`. A new submission is a new, paid task.
    TaskFailed,
    /// Moderation stopped the task. A new submission is a new, paid task.
    Moderated,
    /// The poll returned `Task not found`. Check the polling URL.
    TaskNotFound,
    /// The deadline passed. A task that was already submitted continues; wait for it again.
    Deadline,
    /// The delivery URL has expired: the delivery host refused a URL that a poll had returned ten
    /// minutes or more after the task was first seen as `Ready`. The interface has no operation
    /// that returns the picture later: ask the people of the service.
    Expired,
    /// The picture could not be downloaded completely, or the delivery host refused the URL. The
    /// task is still `Ready`: wait for it again, and download the picture while the delivery URL is
    /// valid (ten minutes).
    Download,
    /// The delivery is truncated, damaged or not a picture, in each attempt. The task is billed,
    /// and its picture may stay unreadable. Download it again while the delivery URL is valid, or
    /// accept what arrived: see [`Error::damaged`](crate::Error::damaged).
    Damaged,
    /// The picture was not fetched, because its delivery URL or a redirect points to a private
    /// address, is not encrypted, or uses a scheme other than http and https. The task is still
    /// `Ready`. If the host is trusted, allow it with
    /// [`ClientBuilder::allow_delivery_host`](crate::ClientBuilder::allow_delivery_host) and resume
    /// the task.
    AddressRefused,
    /// A webhook delivery was rejected, or its event is not about the task. Nothing was done.
    Webhook,
    /// The journal failed; see [`journal`](crate::journal). If
    /// [`Error::billing`](crate::Error::billing) is `NotBilled`, nothing was sent. Otherwise the
    /// task was accepted but is not in the journal.
    Journal,
    /// The journal refused the submission, for example because a budget is used up. Nothing was
    /// billed. See [`Error::refusal`](crate::Error::refusal).
    Refused,
    /// The idempotency key belongs to a different request, or the attempt before this one was never
    /// made, has its picture, or may still get it; see
    /// [`Client::submit_once`](crate::Client::submit_once). Nothing was sent. Use another key.
    KeyConflict,
    /// Another submission with the idempotency key is waiting for its response. Nothing was sent.
    /// Safe to repeat.
    InProgress,
    /// A person has to decide about the submission with the idempotency key: the service may have
    /// accepted it ([`Error::billing`](crate::Error::billing) is `Unknown`), or a person has
    /// [dismissed](crate::Client::dismiss) it. Nothing was sent.
    Undecided,
    /// A local file could not be read or written.
    File,
    /// The SDK panicked, which is a bug. For a submission, nothing was sent. A picture that could
    /// not be saved can be fetched again from [`Error::task`](crate::Error::task).
    Internal,
}

impl ErrorKind {
    /// Returns the kind for an error of work on a local file. The work runs on a blocking thread,
    /// so the error may also be a panic, which is a bug and not a problem of the file.
    pub(crate) fn of_file(error: &io::Error) -> Self {
        let source = error.get_ref().and_then(|source| source.downcast_ref::<JoinError>());
        if source.is_some_and(JoinError::is_panic) { Self::Internal } else { Self::File }
    }

    /// Returns the name of the kind in snake case, for logs and for programs in other languages,
    /// for example `rate_limited`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Usage => "usage",
            Self::Validation => "validation",
            Self::Auth => "auth",
            Self::Payment => "payment",
            Self::RateLimited => "rate_limited",
            Self::Outage => "outage",
            Self::Network => "network",
            Self::Service => "service",
            Self::Response => "response",
            Self::KeyWithheld => "key_withheld",
            Self::TaskFailed => "task_failed",
            Self::Moderated => "moderated",
            Self::TaskNotFound => "task_not_found",
            Self::Deadline => "deadline",
            Self::Expired => "expired",
            Self::Download => "download",
            Self::Damaged => "damaged",
            Self::AddressRefused => "address_refused",
            Self::Webhook => "webhook",
            Self::Journal => "journal",
            Self::Refused => "refused",
            Self::KeyConflict => "key_conflict",
            Self::InProgress => "in_progress",
            Self::Undecided => "undecided",
            Self::File => "file",
            Self::Internal => "internal",
        }
    }
}

/// What is known about the cost of a submission when an error is returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Billing<'a> {
    /// No task was created and nothing was billed.
    NotBilled,
    /// The service may have created and billed a task. The client did not send the submission
    /// again. Check the usage that the service reports before you repeat the submission.
    ///
    /// If the response contained an id, [`Error::task`](crate::Error::task) returns a candidate
    /// reference. Poll it to find out whether it is the task: the id may be that of the request
    /// instead.
    Unknown,
    /// The task was created and billed. Resume it from this reference.
    Accepted(&'a TaskRef),
}

/// How a wait ended without a picture.
///
/// For `kiln`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[doc(hidden)]
pub enum WaitEnd {
    /// The task reached a failure status.
    #[non_exhaustive]
    Failed {
        /// The failure status.
        status: TaskStatus,
    },
    /// The deadline passed while the task was in progress or while polls failed.
    #[non_exhaustive]
    DeadlineExceeded {
        /// The duration of the wait.
        elapsed: Duration,
        /// The number of polls sent.
        polls: u32,
        /// The last status received, if any poll succeeded.
        last_status: Option<TaskStatus>,
    },
    /// A poll was refused, and repeating it would not help.
    #[non_exhaustive]
    Refused {
        /// The status code, if the service responded.
        status: Option<u16>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_while_a_file_is_written_is_not_the_error_of_the_file() {
        let panicked = tokio::task::spawn_blocking(|| panic!("a bug")).await.unwrap_err();
        assert_eq!(ErrorKind::of_file(&io::Error::other(panicked)), ErrorKind::Internal);
        assert_eq!(ErrorKind::of_file(&io::Error::other("full")), ErrorKind::File);
    }
}
