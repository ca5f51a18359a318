//! The one error of the SDK: what happened, to what, and what to do next.

use std::{error, fmt, time::Duration};

use crate::{Operation, TaskRef, TaskStatus, Violation};

type Source = Box<dyn error::Error + Send + Sync>;

/// What went wrong, with all that is known of it.
///
/// `Display` says what happened and what to do next, in text for people; the cause stands in [`source()`] and is not
/// repeated. Programs match on [`kind()`](Self::kind) and ask for the parts. No secret is in it: not the key, no
/// webhook secret, no signed query.
///
/// Whatever fails after a submission was accepted carries the task's reference, [`task()`](Self::task), with which the
/// task can be taken up again. Where it is not known whether the service took the submission,
/// [`may_have_been_billed()`](Self::may_have_been_billed) says so.
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
    billing_unknown: bool,
    end: Option<WaitEnd>,
    source: Option<Source>,
}

/// What kind of error it is, for programs to match on.
///
/// "Safe to repeat" means that repeating the call can't pay for a second picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A setting is missing or can't be used. Nothing was sent. Mend the setting.
    Settings,
    /// The request does not fit the contract; found here before anything was sent, or by the service (422). Nothing was
    /// paid. See [`Error::violations`].
    Validation,
    /// The key is missing, unknown, or without access to the endpoint (401, 403). Nothing was paid.
    Auth,
    /// Too many requests or too many active tasks (429), also after retries. Nothing was paid; safe to repeat after
    /// [`Error::retry_after`].
    RateLimited,
    /// The service could not be reached, or the connection broke. For a submission see
    /// [`Error::may_have_been_billed`].
    Network,
    /// The service answered with another status than the contract names. For a submission see
    /// [`Error::may_have_been_billed`].
    Service,
    /// The service answered with success, and with a body that can't be read. The submission may have been billed.
    Reply,
    /// The key was not sent to the polling address, because its host is none that may have it. The task goes on; allow
    /// the host with [`ClientBuilder::allow_polling_host`](crate::ClientBuilder::allow_polling_host) and take the task
    /// up again.
    KeyWithheld,
    /// The task ended with status `Error`.
    TaskFailed,
    /// The task was stopped by moderation.
    Moderated,
    /// Polling answered `Task not found`.
    TaskNotFound,
    /// The deadline of a wait passed. The task goes on; wait for it again.
    Deadline,
    /// The delivery address is no longer valid.
    Expired,
    /// The picture could not be fetched whole, or what came is no picture. The task is still `Ready`: fetch it again
    /// within the ten minutes of its address.
    Delivery,
    /// A local file could not be read or written.
    File,
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
        /// The last status seen, where any poll succeeded.
        last_status: Option<TaskStatus>,
    },
    /// A poll was refused in a way that repeating it does not mend.
    #[non_exhaustive]
    Refused {
        /// The HTTP status, where the service answered.
        status: Option<u16>,
    },
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
            billing_unknown: false,
            end: None,
            source: None,
        }))
    }

    pub(crate) fn invalid(operation: &'static Operation, violations: Vec<Violation>) -> Self {
        let mut error =
            Self::new(ErrorKind::Validation, format!("the request does not fit {}", operation.name))
                .advice("nothing was sent")
                .operation(operation.name);
        error.0.violations = violations;
        error
    }

    pub(crate) fn advice(mut self, advice: impl Into<String>) -> Self {
        self.0.advice = Some(advice.into());
        self
    }

    pub(crate) fn operation(mut self, operation: &'static str) -> Self {
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

    pub(crate) fn billing_unknown(mut self) -> Self {
        self.0.billing_unknown = true;
        self
    }

    pub(crate) fn ended(mut self, end: WaitEnd) -> Self {
        self.0.end = Some(end);
        self
    }

    pub(crate) fn caused_by(mut self, source: impl Into<Source>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether the service may have taken (and charged) a submission of which no task is known. Such a submission was
    /// not repeated; look at the service's usage before you repeat it.
    pub fn may_have_been_billed(&self) -> bool {
        self.0.billing_unknown
    }

    /// The task that the error is about, once there is one: [`Client::task`](crate::Client::task) takes it up again.
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

    /// The HTTP status that the service answered with, where it answered.
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// The service's own identifier of the request (`x-request-id`), where it sent one: its support can find it by that.
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

    /// How the wait ended, for an error of a wait.
    pub fn wait_end(&self) -> Option<&WaitEnd> {
        self.0.end.as_ref()
    }

    /// What to do next, for people. It is the end of `Display` too.
    pub fn advice_text(&self) -> Option<&str> {
        self.0.advice.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details { message, advice, task, request_id, violations, .. } = &*self.0;
        f.write_str(message)?;
        for (index, violation) in violations.iter().enumerate() {
            f.write_str(if index == 0 { ": " } else { "; " })?;
            write!(f, "{violation}")?;
        }
        if let Some(task) = task {
            write!(f, " (task {})", task.id())?;
        }
        if let Some(request_id) = request_id {
            write!(f, " (request {request_id})")?;
        }
        if let Some(advice) = advice {
            write!(f, "; {advice}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("message", &self.to_string())
            .field("status", &self.0.status)
            .field("task", &self.0.task)
            .field("may_have_been_billed", &self.0.billing_unknown)
            .field("source", &self.0.source)
            .finish()
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn error::Error + 'static))
    }
}
