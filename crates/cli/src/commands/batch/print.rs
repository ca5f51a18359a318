//! Prints jobs and reports: lines and tables for people, JSON for programs.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::{
    failure::Failure,
    output::Output,
    pages::job,
    process::Process,
    text::{Table, json, one_line, printable, rfc3339, seconds},
};
use imagekiln::text::Credits;
use imagekiln_batch::{JobState, JobStatus, Outage, Report, ReportRow, Scope};

/// Prints a job that has changed.
pub fn print_job(output: &Output, job: &JobStatus) -> Result<(), Failure> {
    output.result(|| job_line(job, &directory(&output.process)), || job_event(job))
}

/// Returns the working directory without symbolic links, as in the locations that a ledger stores.
pub fn directory(process: &Process) -> PathBuf {
    fs::canonicalize(&process.directory).unwrap_or_default()
}

/// Returns a line about a job, for example `fox: saved pictures/0001-a-red-fox.png (3.00 credits)`.
/// A path below `directory` is relative to it.
pub fn job_line(job: &JobStatus, directory: &Path) -> String {
    let mut line = format!("{}: {}", one_line(&job.name), job.state);
    let shown = |location: &String| {
        let path = Path::new(location).strip_prefix(directory).unwrap_or(Path::new(location));
        printable(&path.to_string_lossy())
    };
    match (&job.reason, &job.location) {
        (Some(reason), Some(location))
            if matches!(job.state, JobState::Damaged | JobState::Saved) =>
        {
            line += &format!(" {}: {}", shown(location), printable(reason));
        }
        (Some(reason), _) => line += &format!(": {}", printable(reason)),
        (None, Some(location)) => line += &format!(" {}", shown(location)),
        (None, None) => {}
    }
    if is_deleted(job) {
        line += " (the file was deleted)";
    }
    if let Some(credits) = job.credits.filter(|credits| *credits > 0.0) {
        line += &format!(" ({:.2} credits)", Credits(credits));
    }
    line
}

/// Whether the picture was saved to a file that no longer exists.
fn is_deleted(job: &JobStatus) -> bool {
    job::path(job).is_some_and(|path| matches!(path.try_exists(), Ok(false)))
}

pub fn job_event(job: &JobStatus) -> Value {
    json!({
        "event": "job",
        "name": job.name,
        "model": job.operation,
        "group": job.group,
        "metadata": job.metadata,
        "priority": job.priority,
        "state": job.state,
        "reason": job.reason,
        "submissions": job.submissions,
        "task_id": job.task_id,
        "credits": job.credits,
        "sent_at": job.sent_at.map(seconds),
        "location": job.location,
    })
}

/// Says why no jobs are submitted, in a line for each outage.
pub fn outage_lines(outages: &[Outage]) -> Vec<String> {
    outages.iter().map(|outage| printable(&outage.to_string())).collect()
}

pub fn outage_events(outages: &[Outage]) -> Value {
    let event = |outage: &Outage| {
        let model = if let Scope::Operation(name) = &outage.scope { Some(name) } else { None };
        json!({
            "model": model,
            "since": seconds(outage.since),
            "wait": outage.wait.as_secs_f64(),
            "pauses": outage.pauses,
            "kind": outage.kind,
            "reason": outage.reason,
        })
    };
    outages.iter().map(event).collect()
}

/// A job with the facts that a person compares with the usage that the service reports.
pub struct ListedJob {
    pub job: JobStatus,
    /// `None` if the request has no prompt, or cannot be read.
    pub prompt: Option<String>,
    /// The expected cost in credits, if the model of the job has a price.
    pub expected: Option<f64>,
}

impl ListedJob {
    pub fn event(&self) -> Value {
        let members = [
            ("prompt", self.prompt.clone().into()),
            ("expected_credits", self.expected.into()),
            ("deleted", is_deleted(&self.job).into()),
        ];
        json::with(job_event(&self.job), members)
    }
}

/// Returns a table of the jobs whose responses were lost.
pub fn unknown_table<'j>(jobs: impl IntoIterator<Item = &'j ListedJob>) -> Table<5> {
    let rows = jobs.into_iter().map(|ListedJob { job, prompt, expected }| {
        [
            one_line(&job.name),
            job.operation.clone(),
            job.sent_at.map(rfc3339).unwrap_or_default(),
            expected.map_or("unknown".to_owned(), |credits| format!("{:.2}", Credits(credits))),
            one_line(prompt.as_deref().unwrap_or_default()),
        ]
    });
    let heading = ["UNKNOWN JOB", "MODEL", "SENT (UTC)", "EXPECTED CREDITS", "PROMPT"];
    Table::with_heading(heading, rows).long(&[0, 4]).numbers(&[3]).optional(&[1])
}

/// Returns a table with the number of jobs and their cost, by state and model.
pub fn report_table(report: &Report) -> Table<5> {
    let row = |row: &ReportRow| {
        let note = match row.without_cost {
            0 => String::new(),
            count if row.estimated > 0.0 => {
                format!(
                    "{count} of unknown cost, estimated at {:.2} credits",
                    Credits(row.estimated)
                )
            }
            count => format!("{count} of unknown cost"),
        };
        let credits = format!("{:.2}", Credits(row.credits));
        [row.state.to_string(), row.jobs.to_string(), credits, row.operation.clone(), note]
    };
    Table::with_heading(["STATE", "JOBS", "CREDITS", "MODEL", ""], report.rows.iter().map(row))
        .numbers(&[1, 2])
        .wrapped(&[3, 4])
}

pub fn report_event(report: &Report) -> Value {
    let rows = &report.rows;
    let mut states: BTreeMap<JobState, u64> = BTreeMap::new();
    for row in rows {
        *states.entry(row.state).or_default() += row.jobs;
    }
    let row = |row: &ReportRow| {
        json!({
            "state": row.state,
            "model": row.operation,
            "jobs": row.jobs,
            "credits": row.credits,
            "without_cost": row.without_cost,
        })
    };
    json!({
        "event": "report",
        "jobs": rows.iter().map(|row| row.jobs).sum::<u64>(),
        "credits": report.credits(),
        "states": states,
        "rows": rows.iter().map(row).collect::<Vec<_>>(),
    })
}
