//! Shows why the client waits before it repeats a request.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use crate::{
    output::Output,
    terminal::spinner::{self, counted_down},
};
use imagekiln::{
    ErrorKind,
    middleware::{Middleware, Purpose, Retry},
};

/// Waits of this length are worth a line where there is no spinner.
const LONG: Duration = Duration::from_secs(5);

/// Shows waits in the spinner. Without one, prints long waits once for each cause in a row.
pub struct Retries {
    output: Output,
    /// The cause that was printed last.
    printed: Mutex<Option<String>>,
}

impl Retries {
    pub fn new(output: &Output) -> Self {
        Self { output: output.clone(), printed: Mutex::new(None) }
    }
}

impl Middleware for Retries {
    fn retry(&self, retry: &Retry<'_>) {
        let cause = cause(retry);
        let text = format!("{cause}; {}", next(retry));
        if spinner::wait(&text, retry.wait) || retry.wait < LONG {
            return;
        }
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        if printed.as_ref() != Some(&cause) {
            self.output.note(&counted_down(&text, retry.wait));
            *printed = Some(cause);
        }
    }
}

/// For example `the service asks to wait 6 s (429)`.
fn cause(retry: &Retry<'_>) -> String {
    let error = retry.error;
    let asked = error.retry_after().filter(|wait| !wait.is_zero());
    let text = match (asked, retry.purpose, error.kind()) {
        (Some(wait), ..) => format!("the service asks to wait {} s", wait.as_secs()),
        (None, Purpose::Download, _) => "the download failed".to_owned(),
        (None, _, ErrorKind::Network) => "the service is unreachable".to_owned(),
        (None, _, ErrorKind::RateLimited) => "the service is busy".to_owned(),
        (None, _, ErrorKind::Response) => "the response is unreadable".to_owned(),
        _ => "the service failed".to_owned(),
    };
    match error.status() {
        Some(status) => format!("{text} ({status})"),
        None => text,
    }
}

/// For example `attempt 2 of 6`.
fn next(retry: &Retry<'_>) -> String {
    match (retry.attempts, retry.purpose) {
        (Some(attempts), _) => format!("attempt {} of {attempts}", retry.failures + 1),
        (None, Purpose::Poll) => "next poll".to_owned(),
        (None, _) => format!("attempt {}", retry.failures + 1),
    }
}
