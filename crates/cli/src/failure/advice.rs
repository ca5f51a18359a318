//! Advice that the SDK cannot give: the flag that follows its own advice, the mistake in a base
//! URL, the remedy for a picture that can't be written, and what is left to do after the failures
//! of several pictures.

use std::{
    error::{self, Error as _},
    io,
};

use super::{Failure, exit::Exit};
use crate::text::quoted;
use imagekiln::{BASE_URL_VARIABLE, Billing, Error, ErrorKind, Violation};

/// The functions of the SDK that its advice mentions, and the flags that call them.
const FLAGS: [(&str, &str); 4] = [
    ("Key::attempt", "--attempt"),
    ("SubmitOptions::deadline", "--deadline"),
    ("ClientBuilder::allow_polling_host", "--allow-polling-host"),
    ("ClientBuilder::allow_delivery_host", "--allow-delivery-host"),
];

/// The advice about a submission without a response.
pub const CHECK_USAGE: &str =
    "check your usage with the service before you retry: the task may have been charged";

/// The end of the advice if an image would fit as viewers show it.
pub const UPRIGHT: &str = "; --upright sends images as viewers show them";

/// Whether an image has the wrong size only because it is stored turned.
pub fn is_turned(violation: &Violation) -> bool {
    violation.kind == "image_orientation"
}

/// Returns the SDK's advice, in terms of this program: with the flag that follows it.
pub fn of(error: &Error) -> Option<String> {
    match error.kind() {
        ErrorKind::RateLimited if error.task().is_none() => {
            let wait = error
                .retry_after()
                .map_or("a while".to_owned(), |wait| format!("{} s", wait.as_secs()));
            Some(format!("nothing was charged; wait {wait}, then retry"))
        }
        // The response can no longer arrive, because the submission ends with the program.
        ErrorKind::Deadline if error.billing() == Billing::Unknown => Some(CHECK_USAGE.to_owned()),
        ErrorKind::Validation => {
            let advice = error.advice()?;
            let model = error.operation_name()?;
            let upright = if error.violations().iter().any(is_turned) { UPRIGHT } else { "" };
            Some(format!(
                "{advice}{upright}; `kiln run {model} --help` lists the fields and their limits"
            ))
        }
        _ => {
            if let Some(advice) = advice_on_tls(error) {
                return Some(advice.to_owned());
            }
            let advice = error.advice()?;
            let flag = FLAGS.iter().find(|(function, _)| error.function() == Some(function));
            Some(match flag {
                Some((_, flag @ ("--attempt" | "--deadline"))) => format!("{advice} with {flag}"),
                Some((_, flag)) => {
                    let host = error.withheld_host().unwrap_or("HOST");
                    format!("{advice} with {flag} {host}")
                }
                None => advice.to_owned(),
            })
        }
    }
}

/// The variable of the setting that may have caused the error.
pub fn setting(error: &Error) -> Option<&'static str> {
    let on_tls = || advice_on_tls(error).map(|_| BASE_URL_VARIABLE);
    error.setting().or_else(on_tls)
}

/// The advice if the base URL uses https, but the server does not speak TLS.
fn advice_on_tls(error: &Error) -> Option<&'static str> {
    let is_tls = error.kind() == ErrorKind::Network && error.source().is_some_and(is_not_tls);
    is_tls.then_some(
        "nothing was billed; the server does not speak TLS: if it is an http server, write http:// \
         in the base URL",
    )
}

/// Whether an error was caused by a response that is not TLS.
pub fn is_not_tls(error: &(dyn error::Error + 'static)) -> bool {
    if let Some(rustls::Error::InvalidMessage(_)) = error.downcast_ref() {
        return true;
    }
    // An I/O error does not return the error that it wraps as its source, but the source of that
    // error, so look at the wrapped error itself, too.
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    inner.is_some_and(|inner| is_not_tls(inner)) || error.source().is_some_and(is_not_tls)
}

/// The remedy if a picture can't be written to its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// The directory does not exist and can be created.
    Mkdir,
    /// The file system is full, or does not take a file of this size.
    Space,
    /// Only another target can help.
    Elsewhere,
}

impl Remedy {
    /// What the user has to do before the command that resumes the task can save the picture.
    pub fn advice(self) -> Option<&'static str> {
        (self == Self::Space).then_some("free some space first")
    }

    /// The advice for a command that has sent nothing.
    pub fn correction(self) -> &'static str {
        match self {
            Self::Mkdir => "pass --mkdir to create the directory",
            Self::Space => "free some space, or pass another --output",
            Self::Elsewhere => "pass another --output",
        }
    }
}

/// Counts the failures of several pictures, to say at the end what is left to do. Each failure has
/// had a report of its own.
#[derive(Default)]
pub struct Left {
    /// The exit codes of the pictures that were not saved.
    pub exits: Vec<Exit>,
    /// The number of tasks that `kiln resume` continues.
    continuing: usize,
    /// The number of other tasks that are paid for. The report of each one names a command.
    blocked: usize,
    /// The names of the submissions that may have been charged, such as `@3`.
    unknown: Vec<String>,
}

impl Left {
    /// Counts a failure that was reported.
    pub fn add(&mut self, failure: &Failure) {
        self.exits.push(failure.exit);
        if failure.billing_unknown {
            self.unknown.extend(failure.number.map(|number| format!("@{number}")));
        } else if failure.resume_command.is_some() {
            let is_blocked = failure.number.is_none()
                || failure.remedy.is_some()
                || failure.is(ErrorKind::Expired)
                || failure.is(ErrorKind::TaskNotFound);
            let count = if is_blocked { &mut self.blocked } else { &mut self.continuing };
            *count += 1;
        }
    }

    /// The failure of the whole command. Its advice has a sentence for each kind of work that is
    /// left. `unsubmitted` is the number of pictures that were not submitted, and cost nothing.
    pub fn failure(
        &self,
        kind: &'static str,
        exit: Exit,
        message: String,
        unsubmitted: usize,
    ) -> Failure {
        let sentence = |count, one: &str, many: String| match count {
            0 => None,
            1 => Some(one.to_owned()),
            _ => Some(many),
        };
        let Self { continuing, blocked, unknown, .. } = self;
        let advice: Vec<String> = [
            sentence(
                *continuing,
                "`kiln resume` saves the one whose task continues",
                format!("`kiln resume` saves the {continuing} whose tasks continue"),
            ),
            sentence(
                *blocked,
                "1 is paid for: run the command in its report",
                format!("{blocked} are paid for: run the command in the report of each"),
            ),
            (!unknown.is_empty())
                .then(|| format!("check your usage with the service: {}", settle(unknown, None))),
            sentence(
                unsubmitted,
                "1 was not submitted and cost nothing",
                format!("{unsubmitted} were not submitted and cost nothing"),
            ),
        ]
        .into_iter()
        .flatten()
        .collect();
        let failure = Failure::new(kind, exit, message);
        if advice.is_empty() { failure } else { failure.advise(advice.join("; ")) }
    }
}

/// The advice about submissions whose responses were lost. `id` is the id of a task that may belong
/// to one of them.
pub fn settle(names: &[String], id: Option<&str>) -> String {
    let one = if let [name] = names { name } else { "@NUMBER" };
    let id = id.map_or("ID".to_owned(), quoted);
    format!(
        "if the usage shows the task, run `kiln task resolve {one} {id}`, otherwise `kiln task \
         dismiss {}`",
        names.join(" ")
    )
}
