//! The Tasks extension: a call returns as soon as the service has accepted the picture, and the
//! client polls a task, whose id is the number of the picture. A task outlives the server.

use std::{sync::Arc, time::Duration};

use rmcp::{
    RoleServer,
    model::{CreateTaskResult, DetailedTask, Task, TaskPayload, TaskStatus},
    service::RequestContext,
};
use serde_json::Value;

use super::{Server, results};
use crate::{
    failure::Failure,
    history::Entry,
    text::times::{now, rfc3339},
};

/// How often a client should poll.
const BETWEEN_POLLS: Duration = Duration::from_secs(2);

/// Whether the client polls tasks.
pub fn has(context: &RequestContext<RoleServer>) -> bool {
    context.client_capabilities().is_some_and(|client| client.supports_tasks())
}

pub fn created(entry: &Entry) -> CreateTaskResult {
    CreateTaskResult::new(of(entry))
}

fn of(entry: &Entry) -> Task {
    let created = rfc3339(entry.at());
    Task::new(format!("@{}", entry.number), TaskStatus::Working, created, rfc3339(now()))
        .with_poll_interval_ms(BETWEEN_POLLS.as_millis() as u64)
}

/// Returns the state of a task, and its result. The server that created the task may have ended, so
/// unfinished work is resumed.
pub async fn get(server: &Arc<Server>, id: &str) -> Result<DetailedTask, Failure> {
    let entry = server.folders.picture(server.context.process(), id)?;
    if server.can_resume(&entry) {
        server.resume(&entry);
        return Ok(DetailedTask::new(of(&entry), TaskPayload::Working));
    }
    let result = results::of_entry(server, &entry, None, None).await;
    let result = match serde_json::to_value(result) {
        Ok(Value::Object(result)) => result,
        _ => return Err(Failure::usage("the result is not JSON")),
    };
    Ok(DetailedTask::new(of(&entry), TaskPayload::Completed { result }))
}
