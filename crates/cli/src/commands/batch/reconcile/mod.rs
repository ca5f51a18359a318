//! `kiln batch reconcile`: compares unknown jobs with the usage that the service reports.

mod matching;
mod usage;

use std::{collections::HashSet, ops::Range, time::SystemTime};

use clap::{Args, ValueHint};
use serde_json::{Value, json};

use self::{
    matching::{Finding, Submission, Usage, decide},
    usage::{Entry, Renamed, renamed},
};
use crate::{
    context::Context,
    failure::{Exit, Failure},
    history,
    models::PROMPT,
    service,
    text::{Table, one_line, rfc3339, when},
};
use imagekiln::{Request, text::counted};
use imagekiln_batch::{Batch, Filter, JobState, JobStatus, Ledger, Prices, Resolution};

/// How many jobs are read at once. It is small, because their requests may contain images.
const PAGE: usize = 100;

/// Decide about `unknown` jobs with the usage that the service reports
#[derive(Args)]
#[command(
    after_long_help = "The usage is a table with a heading (CSV, or with tabs or semicolons), or \
                        JSON. Each entry has a `time` (UTC without a zone) and a `model`, and may \
                        have a `task_id`, a `cost` in credits and a `prompt`. An entry may be a \
                        job of the same model and prompt that was sent up to 15 minutes before \
                        it, or 5 minutes after it. A job that is the only one for an entry \
                        continues with its task, or was billed. A job without an entry was not \
                        billed, and the next run submits it, if the usage has all entries of its \
                        time, and shows the other jobs of its model that were charged. The others \
                        are left to a person (exit code 10)."
)]
pub struct Options {
    /// The file; `-` is standard input
    #[arg(value_hint = ValueHint::FilePath)]
    usage: String,
    /// Another name of a column: time, model, task_id, cost or prompt, and the name, such as
    /// time=Created; repeat it for several
    #[arg(long, value_name = "COLUMN=NAME", value_parser = renamed)]
    column: Vec<Renamed>,
    /// The usage has all entries from this time on: a time such as 2026-11-20T08:15:09Z, a day,
    /// or so long ago, such as 2h [default: the time of the first entry]
    #[arg(long, value_name = "WHEN", value_parser = when)]
    complete_from: Option<SystemTime>,
    /// The usage has all entries until this time [default: the time of the last entry]
    #[arg(long, value_name = "WHEN", value_parser = when)]
    complete_until: Option<SystemTime>,
    /// Print the decisions; changes nothing
    #[arg(long)]
    dry_run: bool,
}

/// An unknown job, and the decision about it.
type Decided = (JobStatus, Finding);

pub async fn execute(context: &Context, ledger: &Ledger, options: Options) -> Result<(), Failure> {
    let entries = usage::read(context.process(), &options.usage, &options.column)?;
    let (count, complete) = (entries.len(), options.complete(&entries));
    let prices = ledger.limits().prices().await?;
    let (mut unknown, mut charged) = (Vec::new(), Vec::new());
    let is_charged = |job: &JobStatus| job.credits.is_some_and(|credits| credits > 0.0);
    for (job, submission) in submissions(ledger, &prices).await? {
        match job.state {
            JobState::Unknown => unknown.push((job, submission)),
            _ if is_charged(&job) => charged.push(submission),
            _ => {}
        }
    }
    let (jobs, sent): (Vec<_>, Vec<_>) = unknown.into_iter().unzip();
    let claimed = claimed(context, ledger, &entries).await?;
    let findings = decide(&sent, &charged, &Usage::new(entries, claimed, complete));
    let mut decided: Vec<Decided> = jobs.into_iter().zip(findings).collect();
    if !options.dry_run {
        carry_out(context, ledger, &mut decided).await?;
    }
    print(context, &decided, count, options.dry_run)
}

impl Options {
    /// Returns the time range for which the usage has all entries. Without options, it lasts from
    /// the first to the last entry.
    fn complete(&self, entries: &[Entry]) -> Range<SystemTime> {
        let times = || entries.iter().map(|entry| entry.time);
        let from = self.complete_from.or_else(|| times().min());
        let until = self.complete_until.or_else(|| times().max());
        let never = SystemTime::UNIX_EPOCH;
        from.zip(until).map_or(never..never, |(from, until)| from..until)
    }
}

/// Returns the tasks of the usage that belong to submissions of the ledger or of the history.
async fn claimed(
    context: &Context,
    ledger: &Ledger,
    entries: &[Entry],
) -> Result<HashSet<String>, Failure> {
    let tasks: Vec<_> = entries.iter().filter_map(|entry| entry.task.clone()).collect();
    let mut claimed = ledger.jobs().known_tasks(&tasks).await?;
    if tasks.iter().any(|task| !claimed.contains(task)) && context.records()? {
        let found = history::read(context.process())?.flatten();
        claimed.extend(found.filter_map(|entry| Some(entry.record.task()?.id().to_owned())));
    }
    Ok(claimed)
}

/// Returns the jobs that were submitted, with the facts that an entry of the usage may show.
async fn submissions(
    ledger: &Ledger,
    prices: &Prices,
) -> Result<Vec<(JobStatus, Submission)>, Failure> {
    let (mut found, mut last) = (Vec::new(), 0);
    loop {
        let page = ledger.jobs().page_with_requests(&Filter::default(), last, PAGE).await?;
        let Some((end, _)) = page.last() else { return Ok(found) };
        last = end.number;
        let submission = |(job, request): (JobStatus, Request)| {
            let submission = Submission {
                model: job.operation.clone(),
                sent_at: job.sent_at?,
                prompt: request.text(PROMPT).map(str::to_owned),
                expected: prices.of(&job.operation).map(|price| price.of_all(1, job.pixels)),
                task: job.task_id.clone(),
            };
            Some((job, submission))
        };
        found.extend(page.into_iter().filter_map(submission));
    }
}

/// Records the decisions in the ledger. A decision about a job that has changed or is held, or
/// whose task is refused, becomes [`Finding::Open`].
async fn carry_out(
    context: &Context,
    ledger: &Ledger,
    decided: &mut [Decided],
) -> Result<(), Failure> {
    for (finding, resolution) in
        [(Finding::Paid, Resolution::Paid), (Finding::NotPaid, Resolution::NotPaid)]
    {
        let names = decided.iter().filter(|(_, found)| *found == finding);
        let names = names.map(|(job, _)| job.name.clone());
        let outcome = ledger.jobs().resolve_all(&Filter::named(names), resolution).await?;
        let left = [(outcome.held, "its request may still be sent"), (outcome.changed, CHANGED)];
        for (jobs, reason) in left {
            let jobs: HashSet<_> = jobs.into_iter().map(|job| job.number).collect();
            for (_, finding) in decided.iter_mut().filter(|(job, _)| jobs.contains(&job.number)) {
                *finding = Finding::Open(reason.to_owned());
            }
        }
    }
    if !decided.iter().any(|(_, finding)| matches!(finding, Finding::Task(_))) {
        return Ok(());
    }
    let (client, _simulator) = service::client(context).await?;
    let batch = Batch::open(client, ledger.clone())?;
    for (job, finding) in decided {
        if let Finding::Task(task) = finding
            && let Err(error) = batch.resolve_with_task(&job.name, task).await
        {
            let why = Failure::from(error).with_causes();
            *finding = Finding::Open(format!("task {task}: {why}"));
        }
    }
    Ok(())
}

const CHANGED: &str = "it changed in the meantime";

/// Returns the name of a decision, the id of the task, and the reason why a person has to decide.
fn shown(finding: &Finding) -> (&'static str, Option<&str>, Option<&str>) {
    match finding {
        Finding::Task(task) => ("task", Some(task), None),
        Finding::Paid => ("paid", None, None),
        Finding::NotPaid => ("not_paid", None, None),
        Finding::Open(reason) => ("left", None, Some(reason)),
    }
}

fn print(
    context: &Context,
    decided: &[Decided],
    entries: usize,
    dry_run: bool,
) -> Result<(), Failure> {
    let people = || {
        if decided.is_empty() {
            return "no job is unknown".to_owned();
        }
        let rows = decided.iter().map(|(job, finding)| {
            let (decision, task, reason) = shown(finding);
            let sent = job.sent_at.map(rfc3339).unwrap_or_default();
            let about = one_line(task.or(reason).unwrap_or_default());
            [one_line(&job.name), sent, decision.replace('_', " "), about]
        });
        let heading = ["UNKNOWN JOB", "SENT (UTC)", "DECISION", ""];
        let table = Table::with_heading(heading, rows).long(&[0]).wrapped(&[3]);
        let count = |name| decided.iter().filter(|(_, finding)| shown(finding).0 == name).count();
        let [task, paid, not_paid, left] = ["task", "paid", "not_paid", "left"].map(count);
        let unchanged = if dry_run { "; nothing was changed" } else { "" };
        format!(
            "{}\n\nwith a task: {task}, paid: {paid}, not paid: {not_paid}, left to a person: \
             {left}{unchanged}",
            table.text((context.process().stdout.columns)()),
        )
    };
    let programs = || {
        let jobs = decided.iter().map(|(job, finding)| -> Value {
            let (decision, task_id, reason) = shown(finding);
            json!({
                "name": job.name, "decision": decision, "task_id": task_id, "reason": reason,
            })
        });
        json!({
            "event": "reconciled",
            "dry_run": dry_run,
            "entries": entries,
            "jobs": jobs.collect::<Vec<_>>(),
        })
    };
    context.output.result(people, programs)?;
    let left = decided.iter().filter(|(_, finding)| matches!(finding, Finding::Open(_))).count();
    if left == 0 {
        return Ok(());
    }
    let message = format!("{} left to a person", counted(left as u64, "job"));
    Err(Failure::new("jobs_left", Exit::JobsLeft, message)
        .advise("`kiln batch resolve` records what you decide"))
}
