//! Connects a submission with its job: the label of the intent.

use std::fmt;

use imagekiln::journal::Intent;

const PREFIX: &str = "imagekiln-batch";

/// A worker's permission to submit a job once. Its text is the label of the intent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) job: i64,
    pub(crate) worker: i64,
    /// The last part of the webhook URL of the submission, if it has one.
    pub(crate) token: Option<String>,
}

impl Ticket {
    /// Returns the ticket of an intent, or `None` if another part of the program submits it.
    pub(super) fn of(intent: &Intent) -> Option<Self> {
        Self::parse(intent.label()?)
    }

    fn parse(label: &str) -> Option<Self> {
        let mut parts = label.split('/');
        if parts.next()? != PREFIX {
            return None;
        }
        Some(Self {
            job: parts.next()?.parse().ok()?,
            worker: parts.next()?.parse().ok()?,
            token: parts.next().map(str::to_owned),
        })
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}/{}/{}", self.job, self.worker)?;
        match &self.token {
            Some(token) => write!(f, "/{token}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_read_back() {
        for token in [None, Some("0f".to_owned())] {
            let ticket = Ticket { job: 7, worker: 3, token };
            assert_eq!(Ticket::parse(&ticket.to_string()), Some(ticket));
        }
        for label in ["row 17", "imagekiln-batch/x/1", "imagekiln-batch/1"] {
            assert_eq!(Ticket::parse(label), None);
        }
    }
}
