//! The failure of a command, with everything that its report needs.

pub mod advice;
#[cfg(feature = "batch")]
mod batch;
pub mod exit;

use std::{
    error,
    fmt::{self, Display},
    io,
    ops::{Deref, DerefMut},
    path::PathBuf,
};

use serde::Serialize;

#[cfg(feature = "batch")]
pub use self::batch::{FOREIGN, LOCKED, exit_of_job};
pub use self::{
    advice::{Left, Remedy, settle},
    exit::Exit,
};
use crate::text::one_line;
use imagekiln::{Billing, Error, ErrorKind, TaskRef, Violation};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LineProblem {
    /// The file, as the user named it.
    pub file: String,
    /// The number of the line, or 0 if the problem is not on a line.
    pub line: u64,
    pub message: String,
}

impl fmt::Display for LineProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.message),
            line => write!(f, "{}:{line}: {}", self.file, self.message),
        }
    }
}

/// A failure of a command: what went wrong, what to do, and whether anything was charged. Boxed to
/// keep results small.
#[derive(Debug)]
pub struct Failure(Box<Parts>);

/// The parts of a failure. Programs get them in this order, as the event `error`.
#[derive(Debug, Default, Serialize)]
#[serde(tag = "event", rename = "error")]
pub struct Parts {
    /// The kind, which programs can check. If the client reports a problem, the failure has the
    /// kind of the client's error; if this program finds the same problem itself, it uses the same
    /// kind. Other problems of this program have kinds of their own.
    pub kind: &'static str,
    pub reason: Option<&'static str>,
    pub message: String,
    pub causes: Vec<String>,
    pub advice: Option<String>,
    pub violations: Vec<Violation>,
    /// The problems of a job file, one of each kind.
    pub problems: Vec<LineProblem>,
    /// The number of problems whose kinds are not among `problems`.
    pub more_problems: usize,
    pub status: Option<u16>,
    pub request_id: Option<String>,
    pub task: Option<TaskRef>,
    /// The command that resumes the task, if resuming can help.
    #[serde(rename = "resume")]
    pub resume_command: Option<String>,
    #[serde(rename = "may_have_been_billed")]
    pub billing_unknown: bool,
    #[serde(rename = "exit_code")]
    pub exit: Exit,
    /// Tasks that the service accepted and that a ledger could not record.
    #[serde(rename = "tasks", skip_serializing_if = "Vec::is_empty")]
    pub unrecorded: Vec<TaskRef>,
    /// The path at which the bytes of a damaged delivery were kept. It may not be valid Unicode.
    #[serde(skip)]
    pub kept: Option<PathBuf>,
    /// The environment variable of the setting that is missing or invalid.
    #[serde(skip)]
    pub setting: Option<&'static str>,
    /// The number of the submission, if the history has it.
    #[serde(skip)]
    pub number: Option<u64>,
    /// The remedy if the picture could not be written.
    #[serde(skip)]
    pub remedy: Option<Remedy>,
}

impl Failure {
    pub fn new(kind: &'static str, exit: Exit, message: impl Into<String>) -> Self {
        debug_assert!(exit::KINDS.iter().any(|(known, _)| *known == kind), "{kind}");
        Self(Box::new(Parts { kind, exit, message: message.into(), ..Parts::default() }))
    }

    /// Whether the client reports such problems with this kind of error.
    pub fn is(&self, kind: ErrorKind) -> bool {
        self.kind == kind.as_str()
    }

    /// The command line is invalid.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage.as_str(), Exit::Usage, message)
    }

    /// The contract allows the request, but the user cannot have meant it.
    pub fn request(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Validation.as_str(), Exit::Usage, message)
    }

    /// A setting is missing or invalid.
    pub fn settings(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Settings.as_str(), Exit::Usage, message)
    }

    pub fn webhook(reason: &'static str, message: impl Into<String>) -> Self {
        let mut failure = Self::new(ErrorKind::Webhook.as_str(), Exit::WebhookRefused, message);
        failure.reason = Some(reason);
        failure
    }

    pub fn file(what: impl Display, error: io::Error) -> Self {
        Self::new(ErrorKind::File.as_str(), Exit::Other, what.to_string()).caused_by(&error)
    }

    pub fn other(what: impl Into<String>, error: &(dyn error::Error + 'static)) -> Self {
        Self::new("other", Exit::Other, what).caused_by(error)
    }

    /// The service does not know a task whose id the user has given.
    pub fn unknown_task(id: &str) -> Self {
        let message = format!("the service does not know the task {id}");
        Self::new(ErrorKind::TaskNotFound.as_str(), Exit::TaskFailed, message)
    }

    /// A submission was sent to another service, so only a client of that service can continue it.
    pub fn elsewhere(number: u64, task: Option<&TaskRef>, service: &str) -> Self {
        let service = one_line(service);
        let message = format!("submission @{number} was sent to another service, {service}");
        let exit = if task.is_some() { Exit::Continues } else { Exit::BillingUnknown };
        let mut failure = Self::new(ErrorKind::Usage.as_str(), exit, message);
        failure.number = Some(number);
        failure.task = task.cloned();
        failure.billing_unknown = task.is_none();
        failure
    }

    /// An earlier command has already paid for the same request.
    pub fn already_paid(message: String) -> Self {
        Self::new("already_paid", Exit::AlreadyPaid, message)
            .advise("nothing was sent; pass --again to pay again, or another --seed")
    }

    /// The pictures cost more than the user allows.
    pub fn over_budget(message: String) -> Self {
        Self::new(ErrorKind::Payment.as_str(), Exit::Unpaid, message)
            .advise("nothing was sent; pass a higher --budget, or make fewer pictures")
    }

    pub fn late(task: &TaskRef) -> Self {
        Self::new(ErrorKind::Deadline.as_str(), Exit::Continues, "the deadline passed").about(task)
    }

    /// The user interrupted a command that knows the id of its task.
    pub fn interrupted(task: &TaskRef) -> Self {
        let message = format!("interrupted (task {})", one_line(task.id()));
        Self::new("interrupted", Exit::Interrupted, message)
            .about(task)
            .advise("the task continues")
    }

    /// The user interrupted a command before its request was accepted, or declined to make the
    /// picture.
    pub fn not_submitted() -> Self {
        Self::new("interrupted", Exit::Interrupted, "interrupted before the submission")
            .advise("nothing was charged")
    }

    /// The user interrupted a command that was waiting for input and had not changed anything.
    pub fn interrupted_input() -> Self {
        Self::new("interrupted", Exit::Interrupted, "interrupted").advise("nothing was changed")
    }

    /// A submission was abandoned before its response arrived, so nobody knows whether it is
    /// billed.
    pub fn billing_unknown(kind: &'static str, message: impl Into<String>) -> Self {
        let mut failure = Self::new(kind, Exit::BillingUnknown, message);
        failure.billing_unknown = true;
        failure.advise(advice::CHECK_USAGE)
    }

    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    pub fn about(mut self, task: &TaskRef) -> Self {
        self.task = Some(task.clone());
        self
    }

    pub fn remedied_by(mut self, remedy: Remedy) -> Self {
        self.remedy = Some(remedy);
        self
    }

    /// Adds to the advice that the command has sent nothing.
    pub fn before_payment(mut self) -> Self {
        let correction = self.remedy.map(|remedy| remedy.correction().to_owned());
        let advice = self.advice.take().or(correction);
        let advice = advice.map_or_else(String::new, |advice| format!("; {advice}"));
        self.advise(format!("nothing was sent{advice}"))
    }

    /// Adds the task, which is already paid for, to the message. Removes the advice, which is for
    /// commands that have sent nothing.
    pub fn after_payment(mut self, task: &TaskRef) -> Self {
        self.message += &format!(" (task {})", one_line(task.id()));
        self.advice = None;
        self.about(task)
    }

    fn caused_by(mut self, error: &(dyn error::Error + 'static)) -> Self {
        self.causes = causes(Some(error));
        self
    }

    /// Returns the message with the causes, on one line.
    pub fn with_causes(&self) -> String {
        [std::slice::from_ref(&self.message), &self.causes].concat().join(": ")
    }

    /// Returns whether the user interrupted the command without losing a task: either the service
    /// accepted none, or the history has it.
    pub fn is_harmless_interruption(&self) -> bool {
        let is_lost = self.billing_unknown || (self.task.is_some() && self.number.is_none());
        self.exit == Exit::Interrupted && !is_lost
    }

    /// Whether a task is known that may still produce its picture.
    pub fn leaves_a_picture_to_fetch(&self) -> bool {
        let has_ended = self.is(ErrorKind::TaskFailed) || self.is(ErrorKind::Moderated);
        self.task.is_some() && !self.billing_unknown && !has_ended
    }
}

/// The target of a picture is not a valid template.
impl From<imagekiln_label::Error> for Failure {
    fn from(error: imagekiln_label::Error) -> Self {
        Self::request(error.to_string())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::from(&error)
    }
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        Self(Box::new(Parts {
            kind: error.kind().as_str(),
            exit: exit_of(error),
            message: message(error),
            causes: causes(error::Error::source(error)),
            advice: advice::of(error),
            setting: advice::setting(error),
            violations: error.violations().to_vec(),
            status: error.status(),
            request_id: error.request_id().map(str::to_owned),
            billing_unknown: error.billing() == Billing::Unknown,
            task: error.task().cloned(),
            ..Parts::default()
        }))
    }
}

/// The options of a command do not match its definition.
impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Self {
        Self::usage(error.to_string())
    }
}

impl Deref for Failure {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl DerefMut for Failure {
    fn deref_mut(&mut self) -> &mut Parts {
        &mut self.0
    }
}

fn exit_of(error: &Error) -> Exit {
    match error.kind() {
        _ if error.billing() == Billing::Unknown => Exit::BillingUnknown,
        ErrorKind::Settings | ErrorKind::Usage | ErrorKind::Validation => Exit::Usage,
        ErrorKind::Auth => Exit::KeyRefused,
        ErrorKind::Payment => Exit::Unpaid,
        ErrorKind::TaskFailed | ErrorKind::TaskNotFound => Exit::TaskFailed,
        ErrorKind::Moderated => Exit::Moderated,
        ErrorKind::Webhook => Exit::WebhookRefused,
        ErrorKind::File | ErrorKind::Internal | ErrorKind::Journal | ErrorKind::Refused => {
            Exit::Other
        }
        ErrorKind::Deadline if error.task().is_some() => Exit::Continues,
        ErrorKind::KeyWithheld
        | ErrorKind::AddressRefused
        | ErrorKind::Damaged
        | ErrorKind::Expired
        | ErrorKind::InProgress => Exit::Continues,
        _ if error.is_transient() => Exit::Network,
        // The service would refuse another attempt, too.
        _ => Exit::Usage,
    }
}

/// The message, with the ids of the task and of the request. The report shows violations and advice
/// on lines of their own.
fn message(error: &Error) -> String {
    let mut text = error.message();
    if let Some(task) = error.task() {
        text += &format!(" (task {})", one_line(task.id()));
    }
    if let Some(request_id) = error.request_id() {
        text += &format!(" (request {request_id})");
    }
    text
}

/// The sources of an error, without those that the error above them already quotes.
fn causes(mut source: Option<&(dyn error::Error + 'static)>) -> Vec<String> {
    let mut causes: Vec<String> = Vec::new();
    while let Some(error) = source {
        let text = error.to_string();
        if !causes.last().is_some_and(|above| above.contains(&text)) {
            causes.push(text);
        }
        source = error.source();
    }
    causes
}
