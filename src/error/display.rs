//! Formats an error on one line, regardless of the text that the service sent.

use std::{error, fmt};

use super::{Advice, Context, Details, Error};
use crate::values::{MAX_NAME, one_line};

/// The maximum number of printed violations. [`Error::violations`] returns all of them.
const MOST_VIOLATIONS: usize = 20;

/// The maximum printed length of a message, in characters.
const LONGEST_MESSAGE: usize = 1000;

/// The maximum number of printed causes.
const MOST_CAUSES: usize = 10;

/// Returns what failed, on one bounded line.
pub(super) fn message(error: &Error) -> String {
    one_line(&error.details.message, LONGEST_MESSAGE)
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details { advice, context, violations, .. } = &*self.details;
        let Advice { text: advice, function, setting } = advice;
        let Context { task, request_id, .. } = context;
        f.write_str(&message(self))?;
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

/// Prints the text for people and the causes, for a `main` that returns the error. The alternate
/// form (`{:#?}`) prints the parts.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return f
                .debug_struct("Error")
                .field("kind", &self.kind)
                .field("message", &message(self))
                .field("status", &self.details.context.status)
                .field("task", &self.details.context.task)
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
