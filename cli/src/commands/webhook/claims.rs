//! The claims of a webhook about its task. Only a poll can confirm them.

use serde_json::{Value, json};

use crate::sanitize::one_line;
use imagekiln::{TaskStatus, webhook::Event};

/// One line for people.
pub fn to_people(event: &Event) -> String {
    let task = event.task_id();
    let task = task.map_or("no task id found".to_owned(), |id| format!("task {}", one_line(id)));
    let status = event.claimed_status();
    let status = status.map_or("no status".to_owned(), |status| format!("claims {status}"));
    let message = event.message_id();
    let message = message.map_or(String::new(), |id| format!(", message {}", one_line(id)));
    format!("{task}, {status}{message}")
}

/// A JSON object for programs.
pub fn to_programs(event: &Event) -> Value {
    json!({
        "task_id": event.task_id(),
        "claimed_status": event.claimed_status().map(TaskStatus::as_str),
        "message_id": event.message_id(),
        // JSON that is nested too deeply to parse is shown as text.
        "body": event.json().unwrap_or_else(|_| Value::from(String::from_utf8_lossy(event.body()))),
    })
}
