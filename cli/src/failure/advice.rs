//! Advice on errors of the SDK, on a mistake in the base URL that it cannot recognize, and on a
//! picture that can't be written.

use std::{
    error::{self, Error as _},
    io,
};

use imagekiln::{BASE_URL_VARIABLE, Error, ErrorKind};

/// The flags that do what functions of the SDK do.
const FLAGS: [(&str, &str); 3] = [
    ("SubmitOptions::deadline", "--deadline"),
    ("ClientBuilder::allow_polling_host", "--allow-polling-host"),
    ("ClientBuilder::allow_delivery_host", "--allow-delivery-host"),
];

/// The advice about a submission without a response.
pub const CHECK_USAGE: &str =
    "check your usage with the service before you retry: the task may have been charged";

/// The SDK's advice, with the flag of this program that follows it.
pub fn of(error: &Error) -> Option<String> {
    match error.kind() {
        ErrorKind::RateLimited if error.task().is_none() => {
            let wait = error
                .retry_after()
                .map_or("a while".to_owned(), |wait| format!("{} s", wait.as_secs()));
            Some(format!("nothing was charged; wait {wait}, then retry"))
        }
        // The submission ends with the program.
        ErrorKind::Deadline if error.may_have_been_billed() => Some(CHECK_USAGE.to_owned()),
        ErrorKind::Validation => {
            let advice = error.advice()?;
            let model = error.operation_name()?;
            Some(format!("{advice}; `kiln run {model} --help` lists the fields and their limits"))
        }
        _ => {
            if let Some(advice) = advice_on_tls(error) {
                return Some(advice.to_owned());
            }
            let advice = error.advice()?;
            let flag = FLAGS.iter().find(|(function, _)| error.function() == Some(function));
            Some(match flag {
                Some((_, flag @ "--deadline")) => format!("{advice} with {flag}"),
                Some((_, flag)) => {
                    let host = error.withheld_host().unwrap_or("HOST");
                    format!("{advice} with {flag} {host}")
                }
                None => advice.to_owned(),
            })
        }
    }
}

/// The setting that has to do with the error.
pub fn setting(error: &Error) -> Option<&'static str> {
    let on_tls = || advice_on_tls(error).map(|_| BASE_URL_VARIABLE);
    error.setting().or_else(on_tls)
}

/// The advice if a server does not speak TLS, although the base URL uses https.
fn advice_on_tls(error: &Error) -> Option<&'static str> {
    let is_tls = error.kind() == ErrorKind::Network && error.source().is_some_and(is_not_tls);
    is_tls.then_some(
        "nothing was billed; the server does not speak TLS: if it is an http server, write http:// \
         in the base URL",
    )
}

/// Whether an error comes from a response that is not TLS.
pub fn is_not_tls(error: &(dyn error::Error + 'static)) -> bool {
    if let Some(rustls::Error::InvalidMessage(_)) = error.downcast_ref() {
        return true;
    }
    // The source of an I/O error is that of the error in it, so the inner error needs a step.
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
    /// Only another target helps.
    Elsewhere,
}

impl Remedy {
    /// The advice for running the command again.
    pub fn advice(self) -> Option<&'static str> {
        match self {
            Self::Space => Some("free some space first"),
            Self::Mkdir | Self::Elsewhere => None,
        }
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
