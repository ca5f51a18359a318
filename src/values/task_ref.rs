use serde::{Deserialize, Serialize};

use crate::Address;

/// All that is needed to come back to a task: its id, its polling address, and the operation that
/// it was submitted to.
///
/// It serialises, so that another process can take the task up with
/// [`Client::task`](crate::Client::task). Keep it as you keep the picture: the polling address is
/// written whole.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let line = r#"{"id":"a1","polling_url":"https://api.example.com/v1/get_result?id=a1","operation":"gen-2-pro"}"#;
/// let task: imagekiln::TaskRef = serde_json::from_str(line)?;
/// assert_eq!(task.id(), "a1");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TaskRef {
    id: String,
    polling_url: Address,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    operation: Option<String>,
}

impl TaskRef {
    /// A reference from its parts. `operation` is a name such as `gen-2-pro`, where it is known.
    pub fn new(
        id: impl Into<String>,
        polling_url: impl Into<Address>,
        operation: Option<String>,
    ) -> Self {
        Self { id: id.into(), polling_url: polling_url.into(), operation }
    }

    /// The service's identifier of the task.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Where the task is polled.
    pub fn polling_url(&self) -> &Address {
        &self.polling_url
    }

    /// The name of the operation that the task was submitted to, where it is known.
    pub fn operation(&self) -> Option<&str> {
        self.operation.as_deref()
    }
}
