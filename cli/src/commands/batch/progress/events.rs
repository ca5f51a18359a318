//! The progress for programs, one JSON object per event.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use imagekiln_batch::{JobState, JobStatus, Report, ReportRow};

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

/// The batch ended.
pub fn report(report: &Report) -> Value {
    of_rows(report.rows())
}

pub fn of_rows(rows: &[ReportRow]) -> Value {
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
