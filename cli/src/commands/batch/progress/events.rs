//! The progress without a terminal: a line for people, or a JSON object for programs.

use std::{collections::BTreeMap, path::Path};

use serde_json::{Value, json};

use crate::text::{
    sanitize::{one_line, printable},
    table::Table,
};
use imagekiln_batch::{JobState, JobStatus, Report, ReportRow};

/// A job, for example `fox: saved pictures/0001-a-red-fox.png (3.00 credits)`. Paths are relative
/// to `directory`, if they are below it.
pub fn line(job: &JobStatus, directory: &Path) -> String {
    let mut line = format!("{}: {}", one_line(&job.name), job.state);
    match (&job.reason, &job.location) {
        (Some(reason), _) => line += &format!(": {}", printable(reason)),
        (None, Some(location)) => {
            let path = Path::new(location).strip_prefix(directory).unwrap_or(Path::new(location));
            line += &format!(" {}", printable(&path.to_string_lossy()));
        }
        (None, None) => {}
    }
    if let Some(credits) = job.credits.filter(|credits| *credits > 0.0) {
        line += &format!(" ({credits:.2} credits)");
    }
    line
}

/// A job changed.
pub fn job(job: &JobStatus) -> Value {
    json!({
        "event": "job",
        "name": job.name,
        "model": job.operation,
        "group": job.group,
        "metadata": job.metadata,
        "priority": job.priority,
        "state": job.state.as_str(),
        "reason": job.reason,
        "task_id": job.task_id,
        "credits": job.credits,
        "location": job.location,
    })
}

/// The jobs by state and model.
pub fn table(report: &Report) -> Table<5> {
    let row = |row: &ReportRow| {
        let note = match row.without_cost {
            0 => String::new(),
            count if row.estimated > 0.0 => {
                format!("{count} of unknown cost, estimated at {:.2} credits", row.estimated)
            }
            count => format!("{count} of unknown cost"),
        };
        let credits = format!("{:.2}", row.credits);
        [row.state.to_string(), row.jobs.to_string(), credits, row.operation.clone(), note]
    };
    Table::with_heading(["STATE", "JOBS", "CREDITS", "MODEL", ""], report.rows().iter().map(row))
        .numbers(&[1, 2])
        .wrapped(&[3, 4])
}

/// The batch ended.
pub fn report(rows: &[ReportRow]) -> Value {
    let mut states: BTreeMap<JobState, u64> = BTreeMap::new();
    for row in rows {
        *states.entry(row.state).or_default() += row.jobs;
    }
    let states: serde_json::Map<String, Value> =
        states.into_iter().map(|(state, jobs)| (state.to_string(), jobs.into())).collect();
    let row = |row: &ReportRow| {
        json!({
            "state": row.state.as_str(),
            "model": row.operation,
            "jobs": row.jobs,
            "credits": row.credits,
            "without_cost": row.without_cost,
        })
    };
    json!({
        "event": "report",
        "jobs": rows.iter().map(|row| row.jobs).sum::<u64>(),
        "credits": rows.iter().map(|row| row.credits).sum::<f64>(),
        "states": states,
        "rows": rows.iter().map(row).collect::<Vec<_>>(),
    })
}
