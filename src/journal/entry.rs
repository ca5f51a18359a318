use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::TaskRef;

/// A submission that is about to be sent, or was.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Intent {
    id: String,
    operation: String,
    /// Seconds since 1970.
    at: u64,
}

impl Intent {
    pub(crate) fn new(operation: &str, at: SystemTime) -> Self {
        let mut random = fastrand::Rng::new();
        Self {
            id: format!("{:016x}{:016x}", random.u64(..), random.u64(..)),
            operation: operation.to_owned(),
            at: at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        }
    }

    /// What tells it from others: 32 hexadecimal digits.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The name of the operation, such as `gen-2-pro`.
    pub fn operation(&self) -> &str {
        &self.operation
    }

    /// When it was about to be sent, to the second.
    pub fn at(&self) -> SystemTime {
        // A file can hold any number.
        UNIX_EPOCH.checked_add(Duration::from_secs(self.at)).unwrap_or(UNIX_EPOCH)
    }
}

/// What a journal keeps of a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Entry {
    /// It is unknown whether the service accepted it.
    Unknown(Intent),
    /// The service accepted it, and its picture was not saved yet.
    Accepted(Intent, TaskRef),
}

impl Entry {
    pub(super) fn intent(&self) -> &Intent {
        match self {
            Self::Unknown(intent) | Self::Accepted(intent, _) => intent,
        }
    }
}
