//! Why a command did not do what it was asked to, with all that a report needs.

use std::{
    error,
    fmt::Display,
    io,
    ops::{Deref, DerefMut},
};

use imagekiln::{Billing, Error, ErrorKind, TaskRef, Violation};

use crate::{exit::Exit, shown::one_line};

/// A failure: what happened, what to do about it, and what became of the money. Boxed, because
/// results carry it around.
#[derive(Debug)]
pub struct Failure(Box<Parts>);

/// All that is known of a failure.
#[derive(Debug)]
pub struct Parts {
    pub kind: &'static str,
    pub exit: Exit,
    pub message: String,
    pub causes: Vec<String>,
    pub advice: Option<String>,
    pub violations: Vec<Violation>,
    pub status: Option<u16>,
    pub request_id: Option<String>,
    pub billing_unknown: bool,
    pub task: Option<TaskRef>,
    /// The command that takes the task up again, where that makes sense.
    pub take_up: Option<String>,
    /// Why a webhook was refused.
    pub reason: Option<&'static str>,
}

impl Failure {
    fn new(kind: &'static str, exit: Exit, message: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            kind,
            exit,
            message: message.into(),
            causes: Vec::new(),
            advice: None,
            violations: Vec::new(),
            status: None,
            request_id: None,
            billing_unknown: false,
            task: None,
            take_up: None,
            reason: None,
        }))
    }

    /// The command line makes no sense.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new("usage", Exit::Usage, message)
    }

    /// A setting is missing.
    pub fn settings(message: impl Into<String>) -> Self {
        Self::new("settings", Exit::Usage, message)
    }

    /// The delivery of a webhook was refused.
    pub fn webhook(reason: &'static str, message: impl Into<String>) -> Self {
        let mut failure = Self::new("webhook", Exit::WebhookRefused, message);
        failure.reason = Some(reason);
        failure
    }

    /// A local file can't be read or written.
    pub fn file(what: impl Display, error: io::Error) -> Self {
        Self::new("file", Exit::Other, what.to_string()).caused_by(&error)
    }

    /// Something of this machine failed.
    pub fn other(what: impl Into<String>, error: &(dyn error::Error + 'static)) -> Self {
        Self::new("other", Exit::Other, what).caused_by(error)
    }

    /// The user interrupted a command whose task is known.
    pub fn interrupted(task: &TaskRef) -> Self {
        Self::new("interrupted", Exit::Interrupted, "interrupted")
            .about(task)
            .advise(format!("task {} is paid, and goes on", task.id()))
    }

    /// A submission ended before its answer came.
    pub fn billing_unknown(kind: &'static str, message: impl Into<String>) -> Self {
        let mut failure = Self::new(kind, Exit::BillingUnknown, message);
        failure.billing_unknown = true;
        failure.advise(
            "look at the service's usage before you run the command again: the task may be paid",
        )
    }

    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    pub fn about(mut self, task: &TaskRef) -> Self {
        self.task = Some(task.clone());
        self
    }

    fn caused_by(mut self, error: &(dyn error::Error + 'static)) -> Self {
        self.causes = causes(Some(error));
        self
    }

    /// Whether the task may still give its picture.
    pub fn leaves_a_picture_to_fetch(&self) -> bool {
        self.task.is_some() && !["task_failed", "moderated", "task_not_found"].contains(&self.kind)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let exit = match error.billing() {
            Billing::Unknown => Exit::BillingUnknown,
            _ => exit_of(error.kind()),
        };
        let mut failure = Self::new(error.kind().as_str(), exit, message(&error));
        failure.causes = causes(error::Error::source(&error));
        failure.advice = advice(&error);
        failure.violations = error.violations().to_vec();
        failure.status = error.status();
        failure.request_id = error.request_id().map(str::to_owned);
        failure.billing_unknown = error.may_have_been_billed();
        failure.task = error.task().cloned();
        failure
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

fn exit_of(kind: ErrorKind) -> Exit {
    match kind {
        ErrorKind::Settings | ErrorKind::Validation => Exit::Usage,
        ErrorKind::Auth => Exit::KeyRefused,
        ErrorKind::TaskFailed | ErrorKind::TaskNotFound => Exit::TaskFailed,
        ErrorKind::Moderated => Exit::Moderated,
        ErrorKind::Deadline => Exit::Deadline,
        ErrorKind::Webhook => Exit::WebhookRefused,
        ErrorKind::File | ErrorKind::Journal => Exit::Other,
        _ => Exit::Network,
    }
}

/// What happened, to which task and in which request. Violations and advice have lines of their
/// own.
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

/// The SDK advises people who write programs; who types commands is told of flags.
fn advice(error: &Error) -> Option<String> {
    match error.kind() {
        ErrorKind::KeyWithheld => {
            let host = error.withheld_host()?;
            Some(format!(
                "the task goes on; if {host} belongs to the service, take the task up again with --allow-polling-host {host}"
            ))
        }
        ErrorKind::AddressRefused => Some(
            error.advice()?.replace("ClientBuilder::allow_delivery_host", "--allow-delivery-host"),
        ),
        ErrorKind::RateLimited if error.task().is_none() => {
            let wait = error
                .retry_after()
                .map_or("a while".to_owned(), |wait| format!("{} s", wait.as_secs()));
            Some(format!("nothing was paid; wait {wait}, then run the command again"))
        }
        ErrorKind::Validation => {
            let advice = error.advice()?;
            let model = error.operation_name()?;
            Some(format!("{advice}; `kiln run {model} --help` shows the fields and their bounds"))
        }
        _ => {
            let advice = error.advice()?;
            Some(advice.split(", or call ClientBuilder::").next().unwrap_or(advice).to_owned())
        }
    }
}

/// The chain of sources. A cause that the one above it already quotes is left out.
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
