//! The journal records every request to the service, including refused ones.

mod pattern;

use std::time::Duration;

use axum::{
    body::Body,
    http::{StatusCode, request::Parts},
    response::Response,
};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use tokio::time::Instant;
use tracing::info;

pub(crate) use self::pattern::{RequestPattern, problem};
use crate::{
    billing::accounts::{self, ProjectRef},
    contract::Region,
    http::{
        Cut,
        response::{Detail, media_type},
    },
    runtime::Lock,
    values::{log::NumberedLog, names, texts},
};

pub(crate) struct Journal {
    requests: Lock<NumberedLog<RequestRecord>>,
    max_kept: usize,
}

/// The requests in the journal that match a pattern.
#[derive(Serialize)]
pub(crate) struct Found {
    /// The number of matching requests.
    count: usize,
    /// The number of requests that have been dropped, some of which may have matched, too.
    dropped: u64,
    /// What is wrong, if the pattern contains an expected number of requests, and the actual number
    /// differs.
    problem: Option<String>,
    /// The newest matching requests, newest first.
    pub(crate) requests: Vec<RequestRecord>,
}

impl Journal {
    pub(crate) fn new(max_kept: usize) -> Self {
        Self { requests: Lock::default(), max_kept }
    }

    /// Starts the record of a request. The record is written when the returned entry is dropped,
    /// even if no response was sent.
    pub(crate) fn entry(&self, record: RequestRecord) -> JournalEntry<'_> {
        JournalEntry { journal: self, started: Instant::now(), record }
    }

    /// Returns the kept requests, oldest first.
    pub(crate) fn oldest_first(&self) -> Vec<RequestRecord> {
        self.requests.lock().newest().rev().cloned().collect()
    }

    /// Removes the requests for which `keep` returns false.
    pub(crate) fn retain(&self, keep: impl FnMut(&RequestRecord) -> bool) {
        self.requests.lock().retain(keep);
    }

    pub(crate) fn find(&self, pattern: &RequestPattern) -> Found {
        let log = self.requests.lock();
        let matching: Vec<_> = log.newest().filter(|record| pattern.matches(record)).collect();
        let wanted = pattern.times.map(|times| times..=times);
        Found {
            problem: wanted.and_then(|wanted| problem(pattern, None, &wanted, log.newest().rev())),
            count: matching.len(),
            dropped: log.dropped(),
            requests: matching.into_iter().take(pattern.limit()).cloned().collect(),
        }
    }

    /// The number of requests since the simulator started.
    pub(crate) fn written(&self) -> u64 {
        self.requests.lock().written()
    }
}

/// A request in progress, whose record is written at its end.
pub(crate) struct JournalEntry<'a> {
    journal: &'a Journal,
    started: Instant,
    pub(crate) record: RequestRecord,
}

impl Drop for JournalEntry<'_> {
    fn drop(&mut self) {
        let elapsed = self.started.elapsed();
        let mut record = std::mem::take(&mut self.record);
        // Round to microseconds, which are precise enough.
        record.duration_ms = elapsed.as_micros() as f64 / 1000.0;
        let RequestRecord { method, path, region, .. } = &record;
        let operation = record.operation.as_deref();
        let (status, task) = (record.status, record.task_id.as_deref());
        let faults = (!record.faults.is_empty()).then(|| record.faults.join(", "));
        let reason = record.reason();
        info!(method, path, %region, operation, status, task, faults, reason, ?elapsed, "request");
        self.journal.requests.lock().write(self.journal.max_kept, |number| {
            record.number = number;
            record
        });
    }
}

/// The maximum number of characters of a path, a task id or a message.
const MAX_TEXT: usize = 300;

/// The maximum number of violations to keep of one request.
const MAX_VIOLATIONS: usize = 50;

/// The maximum size of a body that is kept, in bytes. Images do not count.
const MAX_BODY: usize = 8 << 10;

/// A request to the service: a submission, a poll, a request for a delivery URL, or one that was
/// refused.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct RequestRecord {
    /// The number of the request, counted from 1 in the order in which the requests ended.
    pub number: u64,
    /// When the request arrived: seconds since 1970-01-01 00:00 UTC, on the simulator's clock.
    pub time: f64,
    /// The base URL to which the request was sent.
    pub region: Region,
    /// The method. Empty if the request is not valid HTTP.
    pub method: String,
    /// The path without the query, which may contain a signature. At most 300 characters, all
    /// printable. Empty if the request is not valid HTTP.
    pub path: String,
    /// The operation, named as in the contract but without `/v1/`: `gen-2-pro`, `get_result`.
    /// `None` for requests for a delivery URL, and if the contract does not have the path.
    pub operation: Option<String>,
    /// The id of the organization to which the key belongs, if the key is valid.
    pub organization: Option<String>,
    /// The id of the project to which the key belongs, if the key is valid.
    pub project: Option<String>,
    /// The masked key: an ellipsis and the end of the key, which is at most four characters and at
    /// most a third of the key.
    pub key: Option<String>,
    /// The status code of the response. `None` if the connection ended without a response, because
    /// of a fault, or because the client disconnected.
    pub status: Option<u16>,
    /// The time until the response was ready, in milliseconds of real time.
    pub duration_ms: f64,
    /// The id of the task that the request created, polled, or downloaded from.
    pub task_id: Option<String>,
    /// The names of the faults that were applied.
    pub faults: Vec<&'static str>,
    /// The reason for a refusal, unless the reason is a list of violations.
    pub detail: Option<String>,
    /// How the request violates the contract. At most 50 violations are kept.
    pub violations: Vec<RequestViolation>,
    /// The names of the fields that had no effect.
    pub ignored_fields: Vec<String>,
    /// The body of a submission, if it is JSON of at most 8 KiB without its images. Images are
    /// summarized, secrets are redacted, and URLs have no query.
    request: Option<Box<RawValue>>,
    /// The body of the response, if it is JSON or text of at most 8 KiB, and was not sent slowly or
    /// in part. Delivery URLs are without their signatures.
    response: Option<Box<RawValue>>,
}

/// A violation of the contract by a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RequestViolation {
    /// The path to the invalid value: `body.width`, `query.id`.
    pub location: String,
    /// The kind: `missing`, `greater_than_equal`, `extra_forbidden`.
    pub kind: String,
    /// What is wrong with the value.
    pub message: String,
}

impl RequestRecord {
    pub(crate) fn new(unix: Duration, region: Region, head: &Parts) -> Self {
        Self {
            time: unix.as_secs_f64(),
            region,
            method: printable(head.method.as_str()),
            path: printable(head.uri.path()),
            key: accounts::masked_key(&head.headers),
            ..Self::default()
        }
    }

    /// Creates the record of a request that is not valid HTTP.
    pub(crate) fn unreadable(unix: Duration, region: Region, status: StatusCode) -> Self {
        Self {
            time: unix.as_secs_f64(),
            region,
            status: Some(status.as_u16()),
            detail: Some("The request is not valid HTTP".to_owned()),
            ..Self::default()
        }
    }

    /// The body of a submission, if it was kept: see the field `request` of `/api/requests`.
    pub fn request(&self) -> Option<Value> {
        serde_json::from_str(self.request.as_ref()?.get()).ok()
    }

    /// The body of the response, if it was kept: see the field `response` of `/api/requests`.
    pub fn response(&self) -> Option<Value> {
        serde_json::from_str(self.response.as_ref()?.get()).ok()
    }

    pub(crate) fn set_project(&mut self, project: &ProjectRef) {
        self.organization = Some(project.organization.to_string());
        self.project = Some(project.project.to_string());
    }

    pub(crate) fn set_task(&mut self, id: &str) {
        self.task_id = Some(printable(id));
    }

    /// Sets the body, which must be JSON without images and secrets.
    pub(crate) fn set_request(&mut self, json: &str) {
        let is_kept = json.len() <= MAX_BODY;
        self.request = is_kept.then(|| RawValue::from_string(json.to_owned()).ok()).flatten();
    }

    /// Records the status code and the body of the response, and the reason for a refusal. Returns
    /// the response. If the connection is cut, the client gets no response, so nothing is recorded.
    pub(crate) async fn set_response(&mut self, response: Response) -> Response {
        if response.extensions().get::<Cut>().is_some() {
            return response;
        }
        self.status = Some(response.status().as_u16());
        match response.extensions().get() {
            Some(Detail(Value::Array(violations))) => {
                self.violations =
                    violations.iter().take(MAX_VIOLATIONS).map(RequestViolation::of).collect();
            }
            Some(Detail(Value::String(text))) => self.detail = Some(printable(text)),
            _ => {}
        }
        if !is_text(&response) {
            return response;
        }
        // Its whole body is in memory already.
        let (head, body) = response.into_parts();
        let body = body.collect().await.unwrap_or_default().to_bytes();
        self.response = serde_json::value::to_raw_value(&without_signatures(&body)).ok();
        Response::from_parts(head, Body::from(body))
    }

    /// Returns why the request was refused, in one line.
    pub(crate) fn reason(&self) -> Option<String> {
        if self.violations.is_empty() {
            return self.detail.clone();
        }
        let violations = self.violations.iter();
        let violations =
            violations.map(|violation| format!("{}: {}", violation.location, violation.message));
        Some(violations.collect::<Vec<_>>().join("; "))
    }
}

impl RequestViolation {
    /// Reads a violation in the form in which the response contains it.
    fn of(shown: &Value) -> Self {
        let steps = shown["loc"].as_array().into_iter().flatten();
        let steps = steps.map(|step| step.as_str().map_or_else(|| step.to_string(), str::to_owned));
        let text = |name: &str| printable(shown[name].as_str().unwrap_or_default());
        Self {
            location: printable(&steps.collect::<Vec<_>>().join(".")),
            kind: text("type"),
            message: text("msg"),
        }
    }
}

/// Whether the body is a text that is short enough to be kept. The length of a body that a fault
/// sends late or cuts is not known.
fn is_text(response: &Response) -> bool {
    let length = response.body().size_hint().exact();
    let kind = media_type(response.headers());
    length.is_some_and(|length| (1..=MAX_BODY as u64).contains(&length))
        && (kind == "application/json" || kind.starts_with("text/"))
}

fn printable(text: &str) -> String {
    names::bounded(text, MAX_TEXT)
}

/// Returns a response as JSON, which is a text if the response is not JSON. Nothing of the record,
/// such as its `Debug`, shows the signature of a delivery URL.
fn without_signatures(response: &[u8]) -> Value {
    let text = || Value::from(String::from_utf8_lossy(response));
    let mut shown = serde_json::from_slice(response).unwrap_or_else(|_| text());
    texts::replace(&mut shown, &|text| {
        let (url, _) = text.split_once("signature=")?;
        Some(format!("{url}signature=[redacted]").into())
    });
    shown
}
