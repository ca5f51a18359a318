//! Middleware: code of the program that runs around every exchange.

use std::time::Duration;

pub use reqwest::header::HeaderMap;
use serde::{Deserialize, Serialize};

use crate::{Address, Error};

/// Code that runs before and after every HTTP exchange of a client, and before it repeats one, for
/// example to add trace headers, to record metrics or to show what the client waits for.
///
/// The client calls the methods on the task that runs the exchange, so they must not block. The
/// default implementations do nothing. Add a middleware with
/// [`ClientBuilder::middleware`](crate::ClientBuilder::middleware).
///
/// If a method panics, the client logs an error and continues as if the method had done nothing,
/// because the exchange may be about a task that is billed.
///
/// ```
/// use imagekiln::middleware::{Exchange, HeaderMap, Middleware, Outcome};
///
/// struct Log;
///
/// impl Middleware for Log {
///     fn before(&self, exchange: &Exchange<'_>, headers: &mut HeaderMap) {
///         headers.insert("x-trace", "4bf92f35".parse().unwrap());
///     }
///
///     fn after(&self, exchange: &Exchange<'_>, outcome: &Outcome) {
///         println!("{:?} {}: {:?}", exchange.purpose, exchange.url, outcome.status);
///     }
/// }
///
/// let builder = imagekiln::Client::builder().middleware(Log);
/// ```
pub trait Middleware: Send + Sync {
    /// Called before each request, with its headers.
    ///
    /// A middleware can neither read nor set the API key. Headers that the SDK or HTTP itself sets,
    /// such as `content-type` and `content-length`, keep their values.
    fn before(&self, exchange: &Exchange<'_>, headers: &mut HeaderMap) {
        let _ = (exchange, headers);
    }

    /// Called when the response headers have arrived, or when the exchange has failed without a
    /// response.
    fn after(&self, exchange: &Exchange<'_>, outcome: &Outcome) {
        let _ = (exchange, outcome);
    }

    /// Called when a request has failed and will be repeated, before the client waits.
    fn retry(&self, retry: &Retry<'_>) {
        let _ = retry;
    }
}

/// A request of the client, and what it is for.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Exchange<'a> {
    /// The purpose of the request.
    pub purpose: Purpose,
    /// The URL of the request. Its printed form omits the query.
    pub url: &'a Address,
    /// The name of the operation, such as `gen-2-pro`, if known.
    pub operation: Option<&'a str>,
    /// The id of the task, for polls and downloads.
    pub task_id: Option<&'a str>,
}

/// The purpose of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Purpose {
    /// The POST that creates a billed task.
    Submission,
    /// A GET to the polling URL of a task.
    Poll,
    /// A GET to a delivery URL. The URL may be on any host; the request has no key.
    Download,
}

impl Purpose {
    pub(crate) fn method(self) -> &'static str {
        match self {
            Self::Submission => "POST",
            Self::Poll | Self::Download => "GET",
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Submission => "submission",
            Self::Poll => "poll",
            Self::Download => "download",
        }
    }
}

/// The outcome of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// The status code of the response, or `None` if no response arrived.
    pub status: Option<u16>,
    /// The time from the request to the response headers.
    pub elapsed: Duration,
}

/// A request that has failed and will be repeated.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Retry<'a> {
    /// The purpose of the request.
    pub purpose: Purpose,
    /// The name of the operation, such as `gen-2-pro`, if known.
    pub operation: Option<&'a str>,
    /// The id of the task, for polls and downloads.
    pub task_id: Option<&'a str>,
    /// The number of attempts that have failed in a row, at least 1.
    pub failures: u32,
    /// The maximum number of attempts, including the first. `None` for polls, which are repeated
    /// until the deadline of the wait.
    pub attempts: Option<u32>,
    /// How long the client waits before the next attempt. A webhook may end the wait for a poll
    /// earlier, unless the service asked for it.
    pub wait: Duration,
    /// Why the last attempt failed. [`Error::retry_after`] is the wait that the service asked for;
    /// a submission ignores a wait of zero.
    pub error: &'a Error,
}
