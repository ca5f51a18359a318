//! Code of the program around every HTTP request of a client.
//!
//! A [`Middleware`] can add headers, and sees each response and each retry. It cannot read or
//! change the API key, and it cannot stop a request, which may be about a task that is billed.
//!
//! ```rust,test_harness
//! use imagekiln::{
//!     ClientBuilder, Error,
//!     middleware::{Exchange, HeaderMap, Middleware, Retry},
//!     types::Gen2Pro,
//! };
//!
//! struct Trace;
//!
//! impl Middleware for Trace {
//!     fn before(&self, exchange: &Exchange<'_>, headers: &mut HeaderMap) {
//!         println!("{:?} {}", exchange.purpose, exchange.url);
//!         headers.insert("x-trace", "4bf92f35".parse().unwrap());
//!     }
//!
//!     fn retry(&self, retry: &Retry<'_>) {
//!         println!("{:?} failed: {}; retried in {:?}", retry.purpose, retry.error, retry.wait);
//!     }
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Error> {
//!     let client = ClientBuilder::from_env()?.middleware(Trace).build()?;
//!     // The word in the double brackets makes a poll of the simulator fail.
//!     let request = Gen2Pro::new("a red fox [[html-502@poll]]").width(512).height(384);
//!     client.submit(request).await?.wait().await?.save("fox.jpg").await?;
//!     Ok(())
//! }
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/guide/main.in"));
//! ```

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

pub use reqwest::header::HeaderMap;
use reqwest::{Response, Version};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use tracing::{Instrument, Span, field::Empty};
use url::Url;

use crate::{
    Address, Error, find_operation,
    generated::{KEY_HEADER, POLLING_PATH},
    telemetry,
};

/// Code of the program that the client calls before and after each HTTP exchange, and before it
/// repeats one. For example, a middleware can add trace headers, record metrics, or show what the
/// client is waiting for.
///
/// The client calls the methods on the task that runs the exchange, so they must not block. The
/// default implementations do nothing. Add a middleware with
/// [`ClientBuilder::middleware`](crate::ClientBuilder::middleware).
///
/// If a method panics, the client logs an error and continues as if the method had done nothing,
/// because the exchange may be about a task that is billed.
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

    /// Called when a request has failed and the client will repeat it, before the client waits for
    /// the next attempt.
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

/// A request that has failed and that the client will repeat, or a submission that the client holds
/// back because other submissions have failed.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Retry<'a> {
    /// The purpose of the request.
    pub purpose: Purpose,
    /// The name of the operation, such as `gen-2-pro`, if known.
    pub operation: Option<&'a str>,
    /// The id of the task, for polls and downloads.
    pub task_id: Option<&'a str>,
    /// The number of attempts that have failed in a row. 0 for a submission that waits for the end
    /// of an [outage](crate::ErrorKind::Outage), and at least 1 otherwise.
    pub failures: u32,
    /// The maximum number of attempts, including the first. `None` for requests that the client
    /// repeats until their deadline: polls, and submissions that the service refuses because it is
    /// busy (429).
    pub attempts: Option<u32>,
    /// How long the client waits before the next attempt. A webhook may end the wait before a poll
    /// earlier, unless the service asked for the wait.
    pub wait: Duration,
    /// Why the last attempt failed. [`Error::retry_after`] is the wait that the service asked for;
    /// a submission ignores a wait of zero.
    pub error: &'a Error,
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
pub(crate) struct Middlewares(pub(crate) Arc<[Arc<dyn Middleware>]>);

impl Middlewares {
    /// Starts the span of an exchange, and calls `before` of each middleware in it. Dropping the
    /// returned value reports how the exchange ended. `url` is the parsed URL of the exchange.
    /// `resends` is the number of earlier requests that this one repeats after a failure or
    /// continues after a redirect.
    pub(crate) fn begin<'a>(
        &'a self,
        exchange: Exchange<'a>,
        url: &Url,
        resends: u32,
        headers: &mut HeaderMap,
    ) -> Observation<'a> {
        let observation = Observation {
            span: span(&exchange, url, resends),
            exchange,
            started: Instant::now(),
            outcome: Err("no_response"),
            middlewares: self,
        };
        if self.0.is_empty() {
            return observation;
        }
        let kept = headers.clone();
        observation.span.in_scope(|| {
            for middleware in self.0.iter() {
                let unchanged = headers.clone();
                if !has_returned("before", || middleware.before(&exchange, headers)) {
                    *headers = unchanged;
                }
            }
        });
        restore(headers, &kept);
        observation
    }

    /// Counts a retry, and calls `retry` of each middleware.
    pub(crate) fn announce(&self, retry: &Retry<'_>) {
        telemetry::retried(retry.purpose.name(), retry.error);
        for middleware in self.0.iter() {
            has_returned("retry", || middleware.retry(retry));
        }
    }
}

/// Calls a method of a middleware, and returns whether the method returned instead of panicking.
/// The panic must not end the exchange: a submission that ends with a panic would lose a task that
/// is billed.
fn has_returned(method: &'static str, hook: impl FnOnce()) -> bool {
    let outcome = catch_unwind(AssertUnwindSafe(hook));
    if outcome.is_err() {
        tracing::error!(method, "a middleware panicked; continuing without it");
    }
    outcome.is_ok()
}

/// Restores the reserved headers, which a middleware cannot change.
fn restore(headers: &mut HeaderMap, kept: &HeaderMap) {
    for name in RESERVED_HEADERS {
        headers.remove(name);
        if let Some(value) = kept.get(name) {
            headers.insert(name, value.clone());
        }
    }
}

/// An exchange in progress. Dropping it reports how the exchange ended.
pub(crate) struct Observation<'a> {
    span: Span,
    exchange: Exchange<'a>,
    started: Instant,
    /// The status code of the response, or why there is none.
    outcome: Result<u16, &'static str>,
    middlewares: &'a Middlewares,
}

impl Observation<'_> {
    /// Sends the request in the span of the exchange, and records the response or the error in the
    /// span.
    pub(crate) async fn send(
        mut self,
        sending: impl Future<Output = reqwest::Result<Response>>,
    ) -> reqwest::Result<Response> {
        let response = sending.instrument(self.span.clone()).await;
        self.outcome = match &response {
            Ok(response) => {
                if let Some(version) = version(response.version()) {
                    self.span.record("network.protocol.version", version);
                }
                let status = response.status().as_u16();
                self.span.record("http.response.status_code", status);
                Ok(status)
            }
            Err(error) => Err(error_type(error)),
        };
        response
    }
}

impl Drop for Observation<'_> {
    fn drop(&mut self) {
        match self.outcome {
            Ok(status @ 400..600) => telemetry::fail(&self.span, &status.to_string()),
            Ok(_) => {}
            Err(error_type) => telemetry::fail(&self.span, error_type),
        }
        let (status, elapsed) = (self.outcome.ok(), self.started.elapsed());
        telemetry::exchanged(self.exchange.purpose.name(), status, elapsed);
        let outcome = Outcome { status, elapsed };
        self.span.in_scope(|| {
            for middleware in self.middlewares.0.iter().rev() {
                has_returned("after", || middleware.after(&self.exchange, &outcome));
            }
        });
    }
}

fn span(exchange: &Exchange<'_>, url: &Url, resends: u32) -> Span {
    let method = exchange.purpose.method();
    let template = template(exchange.purpose, url, exchange.operation);
    tracing::info_span!(
        target: "imagekiln::http",
        "HTTP request",
        otel.name = telemetry::span_name(method, template),
        otel.kind = "client",
        otel.status_code = Empty,
        http.request.method = method,
        http.request.resend_count = (resends > 0).then_some(resends),
        http.response.status_code = Empty,
        url.full = %exchange.url,
        url.template = template,
        server.address = url.host_str(),
        server.port = url.port_or_known_default(),
        network.protocol.version = Empty,
        error.type = Empty,
        imagekiln.operation = exchange.operation,
        imagekiln.task.id = exchange.task_id,
    )
}

/// Returns the path of the URL as a template, without the parts that differ between tasks. `None`
/// if the template is not known.
fn template<'a>(purpose: Purpose, url: &'a Url, operation: Option<&str>) -> Option<&'a str> {
    match purpose {
        Purpose::Submission => match find_operation(operation?) {
            Some(operation) if !operation.path_parameters.is_empty() => Some(operation.path),
            _ => Some(url.path()),
        },
        Purpose::Poll => Some(url.path()).filter(|path| path.ends_with(POLLING_PATH)),
        Purpose::Download => None,
    }
}

fn version(version: Version) -> Option<&'static str> {
    match version {
        Version::HTTP_10 => Some("1.0"),
        Version::HTTP_11 => Some("1.1"),
        Version::HTTP_2 => Some("2"),
        _ => None,
    }
}

fn error_type(error: &reqwest::Error) -> &'static str {
    if error.is_connect() {
        "connect"
    } else if error.is_timeout() {
        "timeout"
    } else {
        "broken"
    }
}
