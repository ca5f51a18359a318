//! A hook of the program around every exchange.

use std::{sync::Arc, time::Duration};

use reqwest::Response;
pub use reqwest::header::HeaderMap;
use tokio::time::Instant;
use url::Url;

use super::key::KEY_HEADER;
use crate::Address;

/// Code of the program around every HTTP exchange of a client: to add headers, such as the ones of
/// a distributed trace, or to count and log what happens.
///
/// Both methods are called on the task that runs the exchange, so they must not block. A method that
/// is not implemented does nothing. Set it with
/// [`ClientBuilder::middleware`](crate::ClientBuilder::middleware).
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
    /// Called before each request, with the headers that it will have. The API key can be neither
    /// read nor set here. Headers that the SDK or HTTP itself sets, such as `content-type` and
    /// `content-length`, keep their values.
    fn before(&self, exchange: &Exchange<'_>, headers: &mut HeaderMap) {
        let _ = (exchange, headers);
    }

    /// Called when the head of the response has arrived, or when it is certain that none will.
    fn after(&self, exchange: &Exchange<'_>, outcome: &Outcome) {
        let _ = (exchange, outcome);
    }
}

/// A request and its response.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Exchange<'a> {
    /// What it is for.
    pub purpose: Purpose,
    /// Where the request goes. Printed, it has no query.
    pub url: &'a Address,
    /// The name of the operation, such as `gen-2-pro`, if it is known.
    pub operation: Option<&'a str>,
    /// The id of the task, for polls and downloads.
    pub task_id: Option<&'a str>,
}

/// What an exchange is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Purpose {
    /// The POST that creates a paid task.
    Submission,
    /// A GET to the polling URL of a task.
    Poll,
    /// A GET to a delivery URL. It may be at any host, and has no key.
    Download,
}

/// How an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// The status code of the response; none if no response arrived.
    pub status: Option<u16>,
    /// The time from the request to the head of the response.
    pub elapsed: Duration,
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

/// The hooks of a client, in the order in which they were set.
#[derive(Clone, Default)]
pub(crate) struct Middlewares(Arc<[Arc<dyn Middleware>]>);

impl Middlewares {
    pub(crate) fn new(hooks: Vec<Arc<dyn Middleware>>) -> Self {
        Self(hooks.into())
    }

    /// Calls the hooks before a request, and after it when the returned value is finished or dropped.
    pub(crate) fn begin(
        &self,
        purpose: Purpose,
        url: &Url,
        (operation, task_id): (Option<&str>, Option<&str>),
        headers: &mut HeaderMap,
    ) -> Observation {
        if self.0.is_empty() {
            return Observation(None);
        }
        let observed = Observed {
            hooks: self.clone(),
            purpose,
            url: url.clone().into(),
            operation: operation.map(str::to_owned),
            task_id: task_id.map(str::to_owned),
            started: Instant::now(),
        };
        let kept = headers.clone();
        self.0.iter().for_each(|hook| hook.before(&observed.exchange(), headers));
        restore(headers, &kept);
        Observation(Some(observed))
    }
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

/// An exchange that the hooks have seen begin. If it is dropped, no response arrived.
pub(crate) struct Observation(Option<Observed>);

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
        self.hooks.0.iter().rev().for_each(|hook| hook.after(&self.exchange(), &outcome));
    }
}

impl Observation {
    /// The exchange ended with this.
    pub(crate) fn finish(mut self, response: &reqwest::Result<Response>) {
        if let Some(observed) = self.0.take() {
            observed.end(response.as_ref().ok().map(|response| response.status().as_u16()));
        }
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        if let Some(observed) = self.0.take() {
            observed.end(None);
        }
    }
}
