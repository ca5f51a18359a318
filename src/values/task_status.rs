//! The status of a task. The generator creates the type from the statuses in the contract; this
//! module adds methods and traits.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use crate::generated::TaskStatus;

use super::{MAX_NAME, one_line};

impl TaskStatus {
    /// Returns `true` if the status is a success or a failure, which can no longer change.
    pub fn is_final(&self) -> bool {
        self.success().is_some()
    }

    pub(crate) fn is_success(&self) -> bool {
        self.success() == Some(true)
    }

    pub(crate) fn is_failure(&self) -> bool {
        self.success() == Some(false)
    }
}

/// Prints at most 100 characters and replaces control characters. [`TaskStatus::as_str`] returns
/// the value unchanged.
impl fmt::Display for TaskStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&one_line(self.as_str(), MAX_NAME))
    }
}

impl Serialize for TaskStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for TaskStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(String::deserialize(deserializer)?.as_str().into())
    }
}
