//! The span of one HTTP exchange. Its fields have the names of OpenTelemetry's semantic conventions
//! for HTTP clients.

use reqwest::{Response, Version};
use tokio::time::Instant;
use tracing::{Span, field::Empty};
use url::Url;

use super::{metrics, spans};
use crate::{
    Address, find_operation,
    transport::middleware::{Purpose, Subject},
};

/// The path of `get_result`, which polling URLs usually have.
const GET_RESULT: &str = "/v1/get_result";

/// An exchange in progress. Dropping it reports that no response arrived.
pub(crate) struct ExchangeSpan {
    span: Span,
    purpose: Purpose,
    started: Instant,
    has_ended: bool,
}

impl ExchangeSpan {
    pub(crate) fn new(purpose: Purpose, url: &Url, subject: Subject<'_>) -> Self {
        let method = match purpose {
            Purpose::Submission => "POST",
            Purpose::Poll | Purpose::Download => "GET",
        };
        let template = template(purpose, url, subject.operation);
        let span = tracing::info_span!(
            target: "imagekiln::http",
            "HTTP request",
            otel.name = spans::named(method, template),
            otel.kind = "client",
            otel.status_code = Empty,
            http.request.method = method,
            http.request.resend_count = (subject.resends > 0).then_some(subject.resends),
            http.response.status_code = Empty,
            url.full = %Address::from(url.clone()),
            url.template = template,
            server.address = url.host_str(),
            server.port = url.port_or_known_default(),
            network.protocol.version = Empty,
            error.type = Empty,
            imagekiln.operation = subject.operation,
            imagekiln.task.id = subject.task_id,
        );
        Self { span, purpose, started: Instant::now(), has_ended: false }
    }

    pub(crate) fn span(&self) -> &Span {
        &self.span
    }

    /// Records the response, or why there is none.
    pub(crate) fn finish(&mut self, response: &reqwest::Result<Response>) {
        let response = match response {
            Ok(response) => response,
            Err(error) => return self.end(None, Some(error_type(error))),
        };
        let status = response.status();
        if let Some(version) = version(response.version()) {
            self.span.record("network.protocol.version", version);
        }
        self.span.record("http.response.status_code", status.as_u16());
        let is_error = status.is_client_error() || status.is_server_error();
        self.end(Some(status.as_u16()), is_error.then_some(status.as_str()));
    }

    fn end(&mut self, status: Option<u16>, error_type: Option<&str>) {
        self.has_ended = true;
        if let Some(error_type) = error_type {
            spans::fail(&self.span, error_type);
        }
        metrics::request(self.purpose, status, self.started.elapsed());
    }
}

impl Drop for ExchangeSpan {
    fn drop(&mut self) {
        if !self.has_ended {
            self.end(None, Some("no_response"));
        }
    }
}

/// Returns the path of the URL without what differs between tasks, if it is known.
fn template<'a>(purpose: Purpose, url: &'a Url, operation: Option<&str>) -> Option<&'a str> {
    match purpose {
        Purpose::Submission => match find_operation(operation?) {
            Some(operation) if !operation.path_parameters.is_empty() => Some(operation.path),
            _ => Some(url.path()),
        },
        Purpose::Poll => Some(url.path()).filter(|path| path.ends_with(GET_RESULT)),
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
