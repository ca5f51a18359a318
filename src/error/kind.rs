use std::time::Duration;

use crate::{TaskRef, TaskStatus};

/// What kind of error it is, for programs to match on.
///
/// "Safe to repeat" means that repeating the call can't pay for a second picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A setting is missing or can't be used. Nothing was sent. Correct the setting.
    Settings,
    /// The request does not fit the contract: found here before anything was sent, or by the
    /// service (422). Nothing was paid. See [`Error::violations`](crate::Error::violations).
    Validation,
    /// The key is missing, unknown, or has no access to the endpoint (401, 403). Nothing was paid.
    Auth,
    /// The project has no credits left, or its spending limit is reached (402). Nothing was paid.
    Payment,
    /// Too many requests or too many active tasks (429), also after retries. Nothing was paid. Safe
    /// to repeat after [`Error::retry_after`](crate::Error::retry_after).
    RateLimited,
    /// The service could not be reached, or the connection broke. For a submission see
    /// [`Error::billing`](crate::Error::billing).
    Network,
    /// The service answered with another status code than the contract names. For a submission see
    /// [`Error::billing`](crate::Error::billing).
    Service,
    /// The service answered with success, and with a body that names no task. The submission may
    /// have been billed.
    Reply,
    /// The key was not sent to the polling URL, because its host is not allowed to receive it. The
    /// task goes on. Allow the host with
    /// [`ClientBuilder::allow_polling_host`](crate::ClientBuilder::allow_polling_host) and resume
    /// the task.
    KeyWithheld,
    /// The task ended with status `Error`.
    TaskFailed,
    /// The task was stopped by moderation.
    Moderated,
    /// The poll returned `Task not found`.
    TaskNotFound,
    /// The deadline of a wait passed. The task goes on. Wait for it again.
    Deadline,
    /// The delivery URL is no longer valid.
    Expired,
    /// The picture could not be fetched whole, or what arrived is not a picture. The task is still
    /// `Ready`: fetch it again within the ten minutes of its delivery URL.
    Delivery,
    /// The picture was not fetched, because its delivery URL or a redirect leads to a private
    /// address, to an unencrypted one, or to one that is neither http nor https. The task is still
    /// `Ready`. If the host is meant to deliver, allow it with
    /// [`ClientBuilder::allow_delivery_host`](crate::ClientBuilder::allow_delivery_host) and resume
    /// the task.
    AddressRefused,
    /// The delivery of a webhook was refused, or its event is not about the task. Nothing was done.
    Webhook,
    /// The journal failed, or refused a submission: see [`journal`](crate::journal). If
    /// [`Error::billing`](crate::Error::billing) is `NotBilled` nothing was sent. Otherwise the
    /// task was accepted, and is not in the journal.
    Journal,
    /// A local file could not be read or written.
    File,
}

impl ErrorKind {
    /// The name of the kind, for logs and for programs in other languages: `rate_limited`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Validation => "validation",
            Self::Auth => "auth",
            Self::Payment => "payment",
            Self::RateLimited => "rate_limited",
            Self::Network => "network",
            Self::Service => "service",
            Self::Reply => "reply",
            Self::KeyWithheld => "key_withheld",
            Self::TaskFailed => "task_failed",
            Self::Moderated => "moderated",
            Self::TaskNotFound => "task_not_found",
            Self::Deadline => "deadline",
            Self::Expired => "expired",
            Self::Delivery => "delivery",
            Self::AddressRefused => "address_refused",
            Self::Webhook => "webhook",
            Self::Journal => "journal",
            Self::File => "file",
        }
    }
}

/// What is known of the money when an error is returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Billing<'a> {
    /// No task was created, and nothing was paid.
    NotBilled,
    /// The service may have created a task and charged for it. The submission was not sent again.
    /// Check the service's usage before you repeat it.
    ///
    /// [`Error::task`](crate::Error::task) may hold a candidate reference, if the response named an
    /// id: poll it, it may be the task, or only the id of a request.
    Unknown,
    /// The task was created and is paid. It can be resumed from its reference.
    Accepted(&'a TaskRef),
}

/// How a wait ended without a picture.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum WaitEnd {
    /// The task reached one of the four failure statuses.
    #[non_exhaustive]
    Failed {
        /// That status.
        status: TaskStatus,
    },
    /// The deadline passed while the task was in progress, or while polls failed.
    #[non_exhaustive]
    DeadlineExceeded {
        /// How long the wait took.
        elapsed: Duration,
        /// How many polls were sent.
        polls: u32,
        /// The last status seen, if any poll succeeded.
        last_status: Option<TaskStatus>,
    },
    /// A poll was refused, and polling again would not change that.
    #[non_exhaustive]
    Refused {
        /// The status code, if the service answered.
        status: Option<u16>,
    },
}
