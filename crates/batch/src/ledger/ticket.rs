//! Connects a submission with its job. The client passes the ticket to the ledger as the context of
//! the intent.

use imagekiln::journal::{Intent, Origin};
use serde::{Deserialize, Serialize};

/// A worker's permission to submit a job once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ticket {
    pub(crate) job: i64,
    pub(crate) worker: i64,
    /// The last part of the webhook URL of the submission, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<String>,
}

/// The context of an intent. The name of the field distinguishes a ticket from the contexts of
/// other parts of the program.
#[derive(Serialize, Deserialize)]
struct Context<T> {
    imagekiln_batch: T,
}

impl Ticket {
    /// Returns the origin of the submission of the job with this name and group.
    pub(crate) fn origin(&self, name: &str, group: Option<&str>) -> Origin {
        let origin = Origin::new(name).context(&Context { imagekiln_batch: self });
        match group {
            Some(group) => origin.group(group),
            None => origin,
        }
    }

    /// Returns the ticket of an intent, or `None` if another part of the program submits it.
    pub(super) fn of(intent: &Intent) -> Option<Self> {
        intent.context().map(|Context { imagekiln_batch }| imagekiln_batch)
    }
}
