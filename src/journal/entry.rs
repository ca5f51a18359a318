//! The entries of a journal.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::TaskRef;

/// A submission that is about to be sent or was sent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Intent {
    id: String,
    operation: String,
    /// Seconds since the Unix epoch.
    at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<String>,
}

impl Intent {
    pub(crate) fn new(operation: &str, at: SystemTime, label: Option<String>) -> Self {
        let mut random = fastrand::Rng::new();
        Self {
            id: format!("{:016x}{:016x}", random.u64(..), random.u64(..)),
            operation: operation.to_owned(),
            at: at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
            label,
        }
    }

    /// Returns the unique id of the intent: 32 hexadecimal digits.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the name of the operation, such as `gen-2-pro`.
    pub fn operation(&self) -> &str {
        &self.operation
    }

    /// Returns when the submission was about to be sent, in whole seconds.
    pub fn at(&self) -> SystemTime {
        // The file may contain any number.
        UNIX_EPOCH.checked_add(Duration::from_secs(self.at)).unwrap_or(UNIX_EPOCH)
    }

    /// Returns the label that the program gave the submission; see
    /// [`Client::submit_labelled`](crate::Client::submit_labelled).
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }
}

/// An entry of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Entry {
    /// The service may have accepted the submission.
    Unknown(Intent),
    /// The service accepted the submission, but its picture has not been saved yet.
    Accepted(Intent, TaskRef),
}

impl Entry {
    pub(super) fn intent(&self) -> &Intent {
        match self {
            Self::Unknown(intent) | Self::Accepted(intent, _) => intent,
        }
    }
}
