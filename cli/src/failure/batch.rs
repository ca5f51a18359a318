//! Failures of ledgers and batches.

use std::{error::Error as _, mem};

use super::Failure;
use crate::exit::Exit;
use imagekiln_batch::{Error, ErrorKind};

impl Failure {
    /// Not every job of a batch is saved.
    pub fn jobs(kind: &'static str, exit: Exit, message: impl Into<String>) -> Self {
        Self::new(kind, exit, message)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = message(&error);
        if let Some(client) = error.client_error() {
            let mut failure = Self::from(client);
            let cause = mem::replace(&mut failure.message, message);
            failure.causes.insert(0, cause);
            return failure;
        }
        let (kind, exit) = match error.kind() {
            ErrorKind::Locked => ("locked", Exit::Other),
            ErrorKind::Job => ("validation", Exit::Usage),
            ErrorKind::State => ("state", Exit::Usage),
            ErrorKind::Hold => ("hold", Exit::Other),
            ErrorKind::File => ("file", Exit::Other),
            ErrorKind::Client => ("other", Exit::Other),
            _ => ("ledger", Exit::Other),
        };
        let mut failure = Self::new(kind, exit, message);
        failure.causes = super::causes(error.source());
        failure
    }
}

/// The message without its source, which is reported as a cause.
fn message(error: &Error) -> String {
    let text = error.to_string();
    let source = error.source().map(|source| format!(": {source}")).unwrap_or_default();
    text.strip_suffix(&source).unwrap_or(&text).to_owned()
}
