//! Middleware: code of the program that runs around every exchange.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use reqwest::Response;
pub use reqwest::header::HeaderMap;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use tracing::Span;
use url::Url;

use super::key::KEY_HEADER;
use crate::{
    Address, Error,
    telemetry::{ExchangeSpan, metrics},
};

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

/// What an exchange is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) operation: Option<&'a str>,
    pub(crate) task_id: Option<&'a str>,
    /// The number of requests for the same purpose before this one, because of failures and
    /// redirects.
    pub(crate) resends: u32,
}

/// Headers that the SDK or HTTP itself sets.
pub(crate) const RESERVED_HEADERS: [&str; 9] = [
    KEY_HEADER,
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "host",
    "te",
    "transfer-encoding",
    "user-agent",
];

/// The middlewares of a client, in the order in which they were added.
#[derive(Clone, Default)]
pub(crate) struct Middlewares(Arc<[Arc<dyn Middleware>]>);

impl Middlewares {
    pub(crate) fn new(hooks: Vec<Arc<dyn Middleware>>) -> Self {
        Self(hooks.into())
    }

    /// Starts the span of an exchange, and calls `before` of each middleware in it. Finishing or
    /// dropping the returned value calls `after`.
    pub(crate) fn begin(
        &self,
        purpose: Purpose,
        url: &Url,
        subject: Subject<'_>,
        headers: &mut HeaderMap,
    ) -> Observation {
        let span = ExchangeSpan::new(purpose, url, subject);
        if self.0.is_empty() {
            return Observation { span, observed: None };
        }
        let observed = Observed {
            hooks: self.clone(),
            purpose,
            url: url.clone().into(),
            operation: subject.operation.map(str::to_owned),
            task_id: subject.task_id.map(str::to_owned),
            started: Instant::now(),
        };
        let kept = headers.clone();
        span.span().in_scope(|| {
            for hook in self.0.iter() {
                let unchanged = headers.clone();
                if call("before", || hook.before(&observed.exchange(), headers)).is_err() {
                    *headers = unchanged;
                }
            }
        });
        restore(headers, &kept);
        Observation { span, observed: Some(observed) }
    }

    /// Counts a retry, and calls `retry` of each middleware.
    pub(crate) fn announce(&self, retry: &Retry<'_>) {
        metrics::retry(retry);
        for hook in self.0.iter() {
            let _ = call("retry", || hook.retry(retry));
        }
    }
}

/// A method of a middleware panicked.
struct Panicked;

/// Calls a method of a middleware. A panic ends only the method, because a submission that ends
/// with it would lose its task.
fn call(method: &'static str, hook: impl FnOnce()) -> Result<(), Panicked> {
    catch_unwind(AssertUnwindSafe(hook)).map_err(|_| {
        tracing::error!(method, "a middleware panicked; continuing without it");
        Panicked
    })
}

/// Gives the reserved headers the values that they had.
fn restore(headers: &mut HeaderMap, kept: &HeaderMap) {
    for name in RESERVED_HEADERS {
        headers.remove(name);
        if let Some(value) = kept.get(name) {
            headers.insert(name, value.clone());
        }
    }
}

/// An exchange in progress. Dropping it reports that no response arrived.
pub(crate) struct Observation {
    span: ExchangeSpan,
    observed: Option<Observed>,
}

struct Observed {
    hooks: Middlewares,
    purpose: Purpose,
    url: Address,
    operation: Option<String>,
    task_id: Option<String>,
    started: Instant,
}

impl Observed {
    fn exchange(&self) -> Exchange<'_> {
        Exchange {
            purpose: self.purpose,
            url: &self.url,
            operation: self.operation.as_deref(),
            task_id: self.task_id.as_deref(),
        }
    }

    fn end(&self, status: Option<u16>) {
        let outcome = Outcome { status, elapsed: self.started.elapsed() };
        for hook in self.hooks.0.iter().rev() {
            let _ = call("after", || hook.after(&self.exchange(), &outcome));
        }
    }
}

impl Observation {
    /// Returns the span to send the request in.
    pub(crate) fn span(&self) -> Span {
        self.span.span().clone()
    }

    /// Reports the outcome to the span and to the middlewares.
    pub(crate) fn finish(mut self, response: &reqwest::Result<Response>) {
        self.span.finish(response);
        self.end(response.as_ref().ok().map(|response| response.status().as_u16()));
    }

    fn end(&mut self, status: Option<u16>) {
        if let Some(observed) = self.observed.take() {
            self.span.span().in_scope(|| observed.end(status));
        }
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        self.end(None);
    }
}
