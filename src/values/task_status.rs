use std::{convert::Infallible, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{MAX_NAME, one_line};

/// The status of a task, as polling tells it (schema `TaskStatus` of the contract).
///
/// The rule of the contract: [`Ready`](Self::Ready) is success; four values are failures; with any
/// other value the task is still in progress. Those are not shown by the contract, so they are kept
/// verbatim.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TaskStatus {
    /// `Ready`: finished, the picture can be fetched.
    Ready,
    /// `Error`: the task failed for good.
    Error,
    /// `Request Moderated`: stopped by moderation.
    RequestModerated,
    /// `Content Moderated`: stopped by moderation.
    ContentModerated,
    /// `Task not found`: polled where it is not known, or no longer.
    TaskNotFound,
    /// Any other value: still in progress.
    InProgress(String),
}

impl TaskStatus {
    /// The value as the service writes it.
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

    /// Whether nothing more will happen to the task: `Ready` or a failure.
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::InProgress(_))
    }

    /// Whether it is one of the four failures.
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

impl FromStr for TaskStatus {
    type Err = Infallible;

    fn from_str(status: &str) -> Result<Self, Self::Err> {
        Ok(status.into())
    }
}

/// At most 100 characters, without control characters; [`TaskStatus::as_str`] has the value as it
/// is.
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

#[cfg(feature = "schemars")]
impl schemars::JsonSchema for TaskStatus {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TaskStatus".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}
