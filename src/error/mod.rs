//! The one error of the SDK: what happened, to what, and what to do next.

mod display;
mod kind;

use std::{error, time::Duration};

pub use kind::{Billing, ErrorKind, WaitEnd};

use crate::{TaskRef, Violation, types::HttpValidationError};

type Source = Box<dyn error::Error + Send + Sync>;

/// What went wrong, with all that is known of it.
///
/// `Display` says what happened and what to do next, in text for people, on one bounded line. The
/// cause is in [`source()`] and is not repeated. Programs match on [`kind()`](Self::kind) and ask
/// for the parts. No secret is in it: not the key, no webhook secret, no signed query.
///
/// Whatever fails after a submission was accepted carries the task's reference,
/// [`task()`](Self::task), from which the task can be resumed. [`billing()`](Self::billing) says
/// what is known of the money.
///
/// [`source()`]: std::error::Error::source
pub struct Error(Box<Details>);

struct Details {
    kind: ErrorKind,
    message: String,
    advice: Option<String>,
    operation: Option<&'static str>,
    task: Option<TaskRef>,
    status: Option<u16>,
    request_id: Option<String>,
    retry_after: Option<Duration>,
    violations: Vec<Violation>,
    answer: Option<HttpValidationError>,
    billing_unknown: bool,
    end: Option<WaitEnd>,
    withheld_host: Option<String>,
    source: Option<Source>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Details {
            kind,
            message: message.into(),
            advice: None,
            operation: None,
            task: None,
            status: None,
            request_id: None,
            retry_after: None,
            violations: Vec::new(),
            answer: None,
            billing_unknown: false,
            end: None,
            withheld_host: None,
            source: None,
        }))
    }

    pub(crate) fn with_advice(mut self, advice: impl Into<String>) -> Self {
        self.0.advice = Some(advice.into());
        self
    }

    pub(crate) fn with_operation(mut self, operation: &'static str) -> Self {
        self.0.operation = Some(operation);
        self
    }

    pub(crate) fn with_task(mut self, task: &TaskRef) -> Self {
        self.0.task = Some(task.clone());
        self
    }

    pub(crate) fn with_status(mut self, status: u16) -> Self {
        self.0.status = Some(status);
        self
    }

    pub(crate) fn with_request_id(mut self, request_id: Option<String>) -> Self {
        self.0.request_id = request_id;
        self
    }

    pub(crate) fn with_retry_after(mut self, retry_after: Option<Duration>) -> Self {
        self.0.retry_after = retry_after;
        self
    }

    pub(crate) fn with_violations(mut self, violations: Vec<Violation>) -> Self {
        self.0.violations = violations;
        self
    }

    pub(crate) fn with_answer(mut self, answer: Option<HttpValidationError>) -> Self {
        self.0.answer = answer;
        self
    }

    pub(crate) fn with_billing_unknown(mut self) -> Self {
        self.0.billing_unknown = true;
        self
    }

    pub(crate) fn with_end(mut self, end: WaitEnd) -> Self {
        self.0.end = Some(end);
        self
    }

    pub(crate) fn with_withheld_host(mut self, host: String) -> Self {
        self.0.withheld_host = Some(host);
        self
    }

    pub(crate) fn with_source(mut self, source: impl Into<Source>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What is known of the money.
    pub fn billing(&self) -> Billing<'_> {
        match &self.0.task {
            _ if self.0.billing_unknown => Billing::Unknown,
            Some(task) => Billing::Accepted(task),
            None => Billing::NotBilled,
        }
    }

    /// Whether [`billing()`](Self::billing) is [`Billing::Unknown`]: the service may have accepted,
    /// and charged for, a submission of which no task is known. It was not repeated.
    pub fn may_have_been_billed(&self) -> bool {
        self.0.billing_unknown
    }

    /// The task that the error is about, once there is one: [`Client::task`](crate::Client::task)
    /// resumes it.
    ///
    /// If [`may_have_been_billed()`](Self::may_have_been_billed), it is a candidate only: the id in
    /// a response that failed may be that of the task, or that of the request.
    pub fn task(&self) -> Option<&TaskRef> {
        self.0.task.as_ref()
    }

    /// The name of the operation, such as `gen-2-pro`.
    pub fn operation_name(&self) -> Option<&str> {
        self.0.operation.or_else(|| self.0.task.as_ref()?.operation())
    }

    /// Whether the request does not fit the contract.
    pub fn is_validation(&self) -> bool {
        self.kind() == ErrorKind::Validation
    }

    /// Whether the key was refused.
    pub fn is_auth(&self) -> bool {
        self.kind() == ErrorKind::Auth
    }

    /// Whether the service asked to come back later.
    pub fn is_rate_limited(&self) -> bool {
        self.kind() == ErrorKind::RateLimited
    }

    /// Whether the task was stopped by moderation.
    pub fn is_moderated(&self) -> bool {
        self.kind() == ErrorKind::Moderated
    }

    /// The HTTP status code of the response, if there was one.
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// The service's own identifier of the request (`x-request-id`), if it sent one: its support
    /// can find it by that.
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// How long the service asked to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// What does not fit; empty for other kinds of error.
    pub fn violations(&self) -> &[Violation] {
        &self.0.violations
    }

    /// The response of the service to an invalid request, with all that it said. It is missing if
    /// the violations were found before anything was sent.
    pub fn answer(&self) -> Option<&HttpValidationError> {
        self.0.answer.as_ref()
    }

    /// How the wait ended, for an error of a wait.
    pub fn wait_end(&self) -> Option<&WaitEnd> {
        self.0.end.as_ref()
    }

    /// What happened, on one line of at most 1000 characters, without the violations and the
    /// advice. It can be shown to whoever uses the program; the advice is for whoever runs it.
    pub fn message(&self) -> String {
        display::message(self)
    }

    /// What to do next, for whoever runs the program. It is the end of `Display` too.
    pub fn advice(&self) -> Option<&str> {
        self.0.advice.as_deref()
    }

    /// Whether the request can be submitted again without paying for a second picture: nothing was
    /// paid for the first. See [`billing()`](Self::billing).
    pub fn is_safe_to_repeat(&self) -> bool {
        self.billing() == Billing::NotBilled
    }

    /// Whether the same call may succeed later, although nothing was changed: the network or the
    /// service failed for the moment, or the deadline was too short. Whether it is
    /// [safe](Self::is_safe_to_repeat) to submit again is another question.
    pub fn is_transient(&self) -> bool {
        match self.kind() {
            ErrorKind::Network
            | ErrorKind::RateLimited
            | ErrorKind::Deadline
            | ErrorKind::Delivery => true,
            ErrorKind::Service | ErrorKind::Reply => {
                self.0.status.is_none_or(|status| !(300..500).contains(&status))
            }
            _ => false,
        }
    }

    /// The host, with its port if it has one, that is not allowed to receive the key, for the kind
    /// [`KeyWithheld`](ErrorKind::KeyWithheld).
    pub fn withheld_host(&self) -> Option<&str> {
        self.0.withheld_host.as_deref()
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn error::Error + 'static))
    }
}
