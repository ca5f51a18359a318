//! The usage: what each task cost, as a service reports it for accounting.

use axum::{
    extract::State,
    http::header::CONTENT_TYPE,
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use time::UtcDateTime;

use super::{
    Shared,
    response::{self, ControlResult, Parameters},
};
use crate::{billing::credits::Credits, tasks::Task};

const HEADING: &str = "time,task_id,model,cost,prompt\r\n";

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    #[default]
    Csv,
    Json,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    #[serde(default)]
    format: Format,
}

/// What a task cost.
#[derive(Serialize)]
struct Entry<'t> {
    /// When the task was accepted, in RFC 3339.
    time: String,
    task_id: &'t str,
    model: &'t str,
    cost: Credits,
    prompt: &'t str,
}

impl<'t> Entry<'t> {
    fn of(task: &'t Task) -> Self {
        let seconds = task.accepted_at.as_secs().try_into().unwrap_or_default();
        let time = UtcDateTime::from_unix_timestamp(seconds).unwrap_or(UtcDateTime::UNIX_EPOCH);
        let (date, (hour, minute, second)) = (time.date(), time.as_hms());
        Self {
            time: format!("{date}T{hour:02}:{minute:02}:{second:02}Z"),
            task_id: &task.id,
            model: &task.operation,
            cost: task.cost,
            prompt: task.prompt(),
        }
    }

    fn csv(&self) -> String {
        let cost = self.cost.hundredths() as f64 / 100.0;
        let prompt = self.prompt.replace('"', "\"\"");
        format!("{},{},{},{cost},\"{prompt}\"\r\n", self.time, self.task_id, self.model)
    }
}

/// Shows all tasks that the simulator keeps, oldest first.
pub(super) async fn show(
    State(state): Shared,
    Parameters(wanted): Parameters<Wanted>,
) -> ControlResult {
    let records = state.records();
    let entries = records.tasks.iter().map(Entry::of);
    match wanted.format {
        Format::Json => response::json(&json!({ "usage": entries.collect::<Vec<_>>() })),
        Format::Csv => Ok(csv(entries.map(|entry| entry.csv()).collect())),
    }
}

fn csv(rows: String) -> Response {
    ([(CONTENT_TYPE, "text/csv; charset=utf-8")], format!("{HEADING}{rows}")).into_response()
}
