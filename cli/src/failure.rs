//! Why a command did not do what it was asked to, with all that a report needs.

use std::{
    error,
    fmt::Display,
    io,
    ops::{Deref, DerefMut},
};

use imagekiln::{Error, ErrorKind, TaskRef, Violation};

use crate::exit::Exit;

/// A failure: what happened, what to do about it, and what became of the money. Boxed, because results carry it around.
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
        failure.advise("look at the service's usage before you run the command again: the task may be paid")
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
        let (kind, exit) = classify(error.kind());
        let exit = if error.may_have_been_billed() { Exit::BillingUnknown } else { exit };
        let mut failure = Self::new(kind, exit, message(&error));
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

fn classify(kind: ErrorKind) -> (&'static str, Exit) {
    match kind {
        ErrorKind::Settings => ("settings", Exit::Usage),
        ErrorKind::Validation => ("validation", Exit::Usage),
        ErrorKind::Auth => ("auth", Exit::KeyRefused),
        ErrorKind::Payment => ("payment", Exit::Network),
        ErrorKind::RateLimited => ("rate_limited", Exit::Network),
        ErrorKind::Network => ("network", Exit::Network),
        ErrorKind::Service => ("service", Exit::Network),
        ErrorKind::Reply => ("reply", Exit::Network),
        ErrorKind::KeyWithheld => ("key_withheld", Exit::Network),
        ErrorKind::TaskFailed => ("task_failed", Exit::TaskFailed),
        ErrorKind::TaskNotFound => ("task_not_found", Exit::TaskFailed),
        ErrorKind::Moderated => ("moderated", Exit::Moderated),
        ErrorKind::Deadline => ("deadline", Exit::Deadline),
        ErrorKind::Expired => ("expired", Exit::Network),
        ErrorKind::Delivery => ("delivery", Exit::Network),
        ErrorKind::AddressRefused => ("address_refused", Exit::Network),
        ErrorKind::File => ("file", Exit::Other),
        ErrorKind::Webhook => ("webhook", Exit::WebhookRefused),
        _ => ("other", Exit::Other),
    }
}

/// `Display` of the SDK's error ends with the violations and the advice, which a report shows on lines of their own.
fn message(error: &Error) -> String {
    let mut text = error.to_string();
    if let Some(advice) = error.advice_text() {
        cut_end(&mut text, &format!("; {advice}"));
    }
    let violations: Vec<String> = error.violations().iter().map(Violation::to_string).collect();
    if !violations.is_empty() {
        cut_end(&mut text, &format!(": {}", violations.join("; ")));
    }
    text
}

fn cut_end(text: &mut String, end: &str) {
    if let Some(rest) = text.strip_suffix(end) {
        text.truncate(rest.len());
    }
}

/// The SDK advises people who write programs; who types commands is told of flags.
fn advice(error: &Error) -> Option<String> {
    match error.kind() {
        ErrorKind::KeyWithheld => {
            let address = error.task()?.polling_url().to_string();
            let host = address.split("://").nth(1).and_then(|rest| rest.split('/').next())?.to_owned();
            Some(format!(
                "the task goes on; if {host} belongs to the service, take the task up again with --allow-polling-host {host}"
            ))
        }
        ErrorKind::AddressRefused => {
            Some(error.advice_text()?.replace("ClientBuilder::allow_delivery_host", "--allow-delivery-host"))
        }
        ErrorKind::RateLimited if error.task().is_none() => {
            let wait =
                error.retry_after().map_or("a while".to_owned(), |wait| format!("{} s", wait.as_secs()));
            Some(format!("nothing was paid; wait {wait}, then run the command again"))
        }
        ErrorKind::Validation => {
            let advice = error.advice_text()?;
            let model = error.operation_name()?;
            Some(format!("{advice}; `kiln run {model} --help` shows the fields and their bounds"))
        }
        _ => {
            let advice = error.advice_text()?;
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
