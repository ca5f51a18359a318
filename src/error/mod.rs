//! The error type of the SDK.

mod kind;

use std::{error, fmt, time::Duration};

pub use self::kind::{Billing, ErrorKind, WaitEnd};
use crate::{
    Damaged, TaskRef, Violation,
    types::HttpValidationError,
    values::{MAX_NAME, one_line},
};

type Source = Box<dyn error::Error + Send + Sync>;

/// The error type of the SDK.
///
/// `Display` prints what failed and what to do next, on one bounded line. It does not include the
/// [`source()`]. Programs can match on [`kind()`](Self::kind) and read the details with the other
/// methods. An error never contains a secret: no API key, no webhook secret, no signed query.
///
/// Every error after a submission was accepted carries the reference of the task,
/// [`task()`](Self::task), from which the task can be resumed. [`billing()`](Self::billing) returns
/// whether the submission was billed.
///
/// [`source()`]: std::error::Error::source
pub struct Error {
    kind: ErrorKind,
    details: Box<Details>,
}

#[derive(Default)]
struct Details {
    message: String,
    advice: Option<String>,
    /// The function of the SDK that does what the advice says.
    function: Option<&'static str>,
    /// The environment variable of the setting that is missing or invalid.
    setting: Option<&'static str>,
    operation: Option<&'static str>,
    task: Option<TaskRef>,
    status: Option<u16>,
    request_id: Option<String>,
    retry_after: Option<Duration>,
    violations: Vec<Violation>,
    response: Option<HttpValidationError>,
    billing_unknown: bool,
    /// Whether another attempt would fail in the same way, although the kind does not say so.
    is_permanent: bool,
    end: Option<WaitEnd>,
    withheld_host: Option<String>,
    refusal: Option<Source>,
    source: Option<Source>,
    damaged: Option<Damaged>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let details = Details { message: message.into(), ..Details::default() };
        Self { kind, details: Box::new(details) }
    }

    fn set(mut self, set: impl FnOnce(&mut Details)) -> Self {
        set(&mut self.details);
        self
    }

    /// Names the function of the SDK that does what the advice says.
    pub(crate) fn with_function(self, function: impl Into<Option<&'static str>>) -> Self {
        self.set(|details| details.function = function.into())
    }

    pub(crate) fn with_setting(self, setting: &'static str) -> Self {
        self.set(|details| details.setting = Some(setting))
    }

    pub(crate) fn with_operation(self, operation: &'static str) -> Self {
        self.set(|details| details.operation = Some(operation))
    }

    pub(crate) fn with_task(self, task: &TaskRef) -> Self {
        self.set(|details| details.task = Some(task.clone()))
    }

    pub(crate) fn with_status(self, status: u16) -> Self {
        self.set(|details| details.status = Some(status))
    }

    pub(crate) fn with_request_id(self, request_id: Option<String>) -> Self {
        self.set(|details| details.request_id = request_id)
    }

    pub(crate) fn with_retry_after(self, retry_after: Option<Duration>) -> Self {
        self.set(|details| details.retry_after = retry_after)
    }

    pub(crate) fn with_violations(self, violations: Vec<Violation>) -> Self {
        self.set(|details| details.violations = violations)
    }

    pub(crate) fn with_response(self, response: Option<HttpValidationError>) -> Self {
        self.set(|details| details.response = response)
    }

    pub(crate) fn permanent(self, is_permanent: bool) -> Self {
        self.set(|details| details.is_permanent = is_permanent)
    }

    pub(crate) fn with_end(self, end: impl Into<Option<WaitEnd>>) -> Self {
        self.set(|details| details.end = end.into())
    }

    pub(crate) fn with_withheld_host(self, withheld_host: String) -> Self {
        self.set(|details| details.withheld_host = Some(withheld_host))
    }

    pub(crate) fn with_source(self, source: impl Into<Source>) -> Self {
        self.set(|details| details.source = Some(source.into()))
    }

    pub(crate) fn with_advice(self, advice: impl Into<String>) -> Self {
        self.set(|details| (details.advice, details.function) = (Some(advice.into()), None))
    }

    pub(crate) fn with_billing_unknown(self) -> Self {
        self.set(|details| details.billing_unknown = true)
    }

    /// Converts the error of the last attempt to that of a delivery that was damaged in every
    /// attempt. `file` contains the bytes, if they were written to a file.
    pub(crate) fn of_damaged(mut self, file: Option<Damaged>) -> Self {
        self.kind = ErrorKind::Damaged;
        let function = file.is_none().then_some("Picture::bytes_unchecked");
        self.details.damaged = file;
        self.with_advice(
            "the picture is billed; fetch it again before its delivery URL expires, or accept the \
             damaged bytes",
        )
        .with_function(function)
    }

    /// Creates the error for a submission that the journal refused. The message has the reason, and
    /// programs can read its type.
    pub(crate) fn refused(reason: Source) -> Self {
        let mut error =
            Self::new(ErrorKind::Refused, format!("the journal refused the submission: {reason}"));
        error.details.refusal = Some(reason);
        error
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns what is known about the cost of the submission. If it is [`Billing::NotBilled`],
    /// submitting the request again cannot be billed twice.
    pub fn billing(&self) -> Billing<'_> {
        match &self.details.task {
            _ if self.details.billing_unknown => Billing::Unknown,
            Some(task) => Billing::Accepted(task),
            None => Billing::NotBilled,
        }
    }

    /// Returns the task that the error is about, if there is one.
    /// [`Client::task`](crate::Client::task) resumes it.
    ///
    /// If [`billing()`](Self::billing) is [`Billing::Unknown`], the task is only a candidate: the
    /// id in a failed response may be that of the task or that of the request.
    pub fn task(&self) -> Option<&TaskRef> {
        self.details.task.as_ref()
    }

    /// Returns the name of the operation, such as `gen-2-pro`.
    ///
    /// For `kiln`.
    #[doc(hidden)]
    pub fn operation_name(&self) -> Option<&str> {
        self.details.operation.or_else(|| self.details.task.as_ref()?.operation())
    }

    /// Returns the HTTP status code of the response, if there was one.
    pub fn status(&self) -> Option<u16> {
        self.details.status
    }

    /// Returns the id that the service gave the request (`x-request-id`), if it sent one. The
    /// support of the service can look up the request with this id.
    pub fn request_id(&self) -> Option<&str> {
        self.details.request_id.as_deref()
    }

    /// Returns how long the service asked the client to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        self.details.retry_after
    }

    /// Returns the violations of the contract. Empty for other kinds of errors.
    pub fn violations(&self) -> &[Violation] {
        &self.details.violations
    }

    /// Returns the complete response of the service to an invalid request. `None` if the SDK found
    /// the violations before sending.
    pub fn response(&self) -> Option<&HttpValidationError> {
        self.details.response.as_ref()
    }

    /// Returns how the wait ended, for an error of a wait.
    ///
    /// For `kiln`.
    #[doc(hidden)]
    pub fn wait_end(&self) -> Option<&WaitEnd> {
        self.details.end.as_ref()
    }

    /// Returns what failed, on one line of at most 1000 characters, without the violations and the
    /// advice.
    ///
    /// The message can be shown to users of the program; the advice is for its operator.
    ///
    /// ```
    /// use imagekiln::{Client, types::Gen2Pro};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), imagekiln::Error> {
    /// # let client = Client::builder().api_key("key").base_url("http://127.0.0.1:9").build()?;
    /// let error = client.submit(Gen2Pro::new("a red fox").width(16)).await.unwrap_err();
    /// assert_eq!(error.message(), "the request is not valid for gen-2-pro");
    /// assert_eq!(
    ///     error.to_string(),
    ///     "the request is not valid for gen-2-pro: width: is 16; must be at least 64; \
    ///      nothing was sent"
    /// );
    /// # Ok(())
    /// # }
    /// ```
    pub fn message(&self) -> String {
        one_line(&self.details.message, LONGEST_MESSAGE)
    }

    /// Returns what the operator of the program should do next, in words that do not depend on the
    /// SDK. `Display` ends with it, [`function()`](Self::function) and
    /// [`setting()`](Self::setting).
    pub fn advice(&self) -> Option<&str> {
        self.details.advice.as_deref()
    }

    /// Returns the function of the SDK that does what [`advice()`](Self::advice) says, if there is
    /// one, for example `ClientBuilder::allow_polling_host`.
    ///
    /// It is for the developers of the program. A program with settings of its own can name the
    /// matching setting instead, as `kiln` does with `--allow-polling-host`.
    #[doc(hidden)]
    pub fn function(&self) -> Option<&'static str> {
        self.details.function
    }

    /// Returns the environment variable of the setting that is missing or invalid, for example
    /// `IMAGEKILN_BASE_URL`, even if the value was set with the builder.
    ///
    /// A program that reads the setting from elsewhere can say where.
    #[doc(hidden)]
    pub fn setting(&self) -> Option<&'static str> {
        self.details.setting
    }

    /// Returns `true` if the same call may succeed later without any change: the network or the
    /// service failed temporarily, or the deadline was too short.
    ///
    /// For the kind [`Service`](ErrorKind::Service), this method returns `false` if the status code
    /// ends a wait, such as 400, 404 and 413, because another attempt would fail in the same way.
    /// The base URL or the model prefix may be wrong.
    ///
    /// This does not mean that submitting again is safe: it is if [`billing()`](Self::billing) is
    /// [`Billing::NotBilled`].
    pub fn is_transient(&self) -> bool {
        match self.kind {
            ErrorKind::Service
            | ErrorKind::Response
            | ErrorKind::Network
            | ErrorKind::RateLimited
            | ErrorKind::Outage
            | ErrorKind::Deadline
            | ErrorKind::Download => !self.details.is_permanent,
            _ => false,
        }
    }

    /// Returns why the journal refused the submission, for the kind
    /// [`Refused`](ErrorKind::Refused). The program can downcast it to an error type of its
    /// journal.
    pub fn refusal(&self) -> Option<&(dyn error::Error + Send + Sync + 'static)> {
        self.details.refusal.as_deref()
    }

    /// Returns the bytes of a damaged delivery, for the kind [`Damaged`](ErrorKind::Damaged).
    /// `None` if the picture was not saved to a file:
    /// [`Picture::bytes_unchecked`](crate::Picture::bytes_unchecked) returns the bytes then.
    pub fn damaged(&self) -> Option<&Damaged> {
        self.details.damaged.as_ref()
    }

    /// Returns the host that is not allowed to receive the key, with its port if it has one, for
    /// the kind [`KeyWithheld`](ErrorKind::KeyWithheld).
    #[doc(hidden)]
    pub fn withheld_host(&self) -> Option<&str> {
        self.details.withheld_host.as_deref()
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.details.source.as_deref().map(|source| source as &(dyn error::Error + 'static))
    }
}

/// The maximum number of printed violations. [`Error::violations`] returns all of them.
const MOST_VIOLATIONS: usize = 20;

/// The maximum printed length of a message, in characters.
const LONGEST_MESSAGE: usize = 1000;

/// The maximum number of printed causes.
const MOST_CAUSES: usize = 10;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details { advice, function, setting, task, request_id, violations, .. } =
            &*self.details;
        f.write_str(&self.message())?;
        for (index, violation) in violations.iter().take(MOST_VIOLATIONS).enumerate() {
            f.write_str(if index == 0 { ": " } else { "; " })?;
            write!(f, "{violation}")?;
        }
        if violations.len() > MOST_VIOLATIONS {
            write!(f, "; and {} more", violations.len() - MOST_VIOLATIONS)?;
        }
        if let Some(task) = task {
            write!(f, " (task {})", one_line(task.id(), MAX_NAME))?;
        }
        if let Some(request_id) = request_id {
            write!(f, " (request {request_id})")?;
        }
        if let Some(advice) = advice {
            write!(f, "; {}", one_line(advice, LONGEST_MESSAGE))?;
        }
        match (function, setting) {
            (Some(function), Some(setting)) => write!(f, " ({function} or {setting})")?,
            (Some(name), None) | (None, Some(name)) => write!(f, " ({name})")?,
            (None, None) => {}
        }
        Ok(())
    }
}

/// Prints the same text as `Display`, and the causes, for a `main` that returns the error. The
/// alternate form (`{:#?}`) prints the fields.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return f
                .debug_struct("Error")
                .field("kind", &self.kind)
                .field("message", &self.message())
                .field("status", &self.details.status)
                .field("task", &self.details.task)
                .field("billing_unknown", &self.details.billing_unknown)
                .finish_non_exhaustive();
        }
        fmt::Display::fmt(self, f)?;
        let causes = std::iter::successors(error::Error::source(self), |cause| cause.source());
        for (index, cause) in causes.take(MOST_CAUSES).enumerate() {
            f.write_str(if index == 0 { "\n\nCaused by:" } else { "" })?;
            write!(f, "\n    {}", one_line(&cause.to_string(), LONGEST_MESSAGE))?;
        }
        Ok(())
    }
}
