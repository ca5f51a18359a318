//! What a webhook says of its task. Whether that is true, only a poll tells.

use imagekiln::{TaskStatus, webhook::Event};
use serde_json::{Value, json};

use crate::shown::one_line;

/// Members of the body that may hold the one that describes the task, as for a verified [`Event`].
const WRAPPERS: [&str; 4] = ["data", "task", "response", "result"];

/// No id is longer, in bytes.
const MAX_ID: usize = 512;

/// What a webhook says of its task.
pub struct Claims {
    task_id: Option<String>,
    status: Option<TaskStatus>,
    message_id: Option<String>,
    body: Value,
}

impl Claims {
    pub fn verified(event: &Event) -> Self {
        Self {
            task_id: event.task_id().map(str::to_owned),
            status: event.claimed_status().cloned(),
            message_id: event.message_id().map(str::to_owned),
            body: event.json().clone(),
        }
    }

    /// Reads a body that nobody has verified, the way that the SDK reads a verified one. `None` if it is not JSON.
    pub fn unverified(body: &[u8], pointer: Option<&str>) -> Option<Self> {
        let body: Value = serde_json::from_slice(body).ok()?;
        let task_id = match pointer {
            Some(pointer) => body.pointer(pointer).and_then(id_text),
            None => ["task_id", "id"].iter().find_map(|name| find(&body, name, id_text)),
        };
        let status = find(&body, "status", |status| status.as_str().map(TaskStatus::from));
        Some(Self { task_id, status, message_id: None, body })
    }

    /// One line for people.
    pub fn to_people(&self) -> String {
        let task = self.task_id.as_deref();
        let task = task.map_or("no task id found".to_owned(), |id| format!("task {}", one_line(id)));
        let status = self.status.as_ref();
        let status = status.map_or("claims no status".to_owned(), |status| format!("claims {status}"));
        let message = self.message_id.as_deref();
        let message = message.map_or(String::new(), |id| format!(", message {}", one_line(id)));
        format!("{task}, {status}{message}")
    }

    /// A JSON object for programs.
    pub fn to_programs(&self) -> Value {
        json!({
            "task_id": self.task_id,
            "claimed_status": self.status.as_ref().map(TaskStatus::as_str),
            "message_id": self.message_id,
            "body": self.body,
        })
    }
}

/// The member of this name, of the body or of one of its wrappers.
fn find<T>(body: &Value, name: &str, read: impl Fn(&Value) -> Option<T>) -> Option<T> {
    let wrapped = WRAPPERS.iter().filter_map(|wrapper| body.get(wrapper));
    std::iter::once(body).chain(wrapped).find_map(|place| place.get(name).and_then(&read))
}

fn id_text(id: &Value) -> Option<String> {
    match id {
        Value::String(id) if !id.is_empty() && id.len() <= MAX_ID => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    }
}
