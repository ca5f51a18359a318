//! The statuses of tasks.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{MAX_NAME, one_line};

/// The status of a task, as reported by a poll (schema `TaskStatus` of the contract).
///
/// The contract defines one success, [`Ready`](Self::Ready), and four failures. A task with any
/// other status is still in progress. The contract does not list those values, so they are kept
/// verbatim, and the client [logs](crate::guide::transport#logs) each of them once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(with = "String"))]
#[non_exhaustive]
pub enum TaskStatus {
    /// `Ready`: the task is finished and the picture can be fetched.
    Ready,
    /// `Error`: the task failed permanently.
    Error,
    /// `Request Moderated`: moderation stopped the request.
    RequestModerated,
    /// `Content Moderated`: moderation stopped the generated content.
    ContentModerated,
    /// `Task not found`: the task is unknown at the polled URL, or no longer known.
    TaskNotFound,
    /// Any other value: the task is still in progress.
    InProgress(String),
}

impl TaskStatus {
    /// Returns the status as the service writes it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Ready => "Ready",
            Self::Error => "Error",
            Self::RequestModerated => "Request Moderated",
            Self::ContentModerated => "Content Moderated",
            Self::TaskNotFound => "Task not found",
            Self::InProgress(status) => status,
        }
    }

    /// Returns `true` if the status cannot change any more: `Ready` or a failure.
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::InProgress(_))
    }

    /// Returns `true` if the status is one of the four failures.
    pub fn is_failure(&self) -> bool {
        self.is_final() && *self != Self::Ready
    }
}

impl From<&str> for TaskStatus {
    fn from(status: &str) -> Self {
        match status {
            "Ready" => Self::Ready,
            "Error" => Self::Error,
            "Request Moderated" => Self::RequestModerated,
            "Content Moderated" => Self::ContentModerated,
            "Task not found" => Self::TaskNotFound,
            other => Self::InProgress(other.to_owned()),
        }
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

#[cfg(test)]
mod tests {
    use super::TaskStatus;
    use crate::generated::{FAILURE_STATUSES, SUCCESS_STATUSES};

    #[test]
    fn the_final_statuses_are_those_of_the_contract() {
        let status = |name: &&str| TaskStatus::from(*name);
        assert_eq!(SUCCESS_STATUSES.iter().map(status).collect::<Vec<_>>(), [TaskStatus::Ready]);
        let failures = [
            TaskStatus::Error,
            TaskStatus::RequestModerated,
            TaskStatus::ContentModerated,
            TaskStatus::TaskNotFound,
        ];
        assert_eq!(FAILURE_STATUSES.iter().map(status).collect::<Vec<_>>(), failures);
        assert!(failures.iter().all(TaskStatus::is_failure));
    }
}
