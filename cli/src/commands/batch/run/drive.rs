//! Runs a batch, shows its progress, and stops it at Ctrl-C.

use std::{
    collections::{BTreeSet, HashSet},
    pin::pin,
    time::Duration,
};

use tokio::{
    sync::mpsc,
    time::{self, Instant},
};

use super::{super::progress::Progress, resume::Resume};
use crate::{failure::Failure, process::interrupt::Interrupts, text::sanitize::one_line};
use imagekiln::TaskRef;
use imagekiln_batch::{Batch, Error, ErrorKind, Filter, JobState, Ledger, Report, Scope};

/// The time for which a stopped run waits for responses to submissions in flight.
const LAST_SUBMISSIONS: Duration = Duration::from_secs(5);

/// How often the ledger is read for changes that other processes make. Reading takes at most a
/// twentieth of the time.
const LOOKS: Duration = Duration::from_secs(1);
const SHARE: u32 = 20;

/// The states of jobs that have no task, or whose pictures are saved.
const WITHOUT_OPEN_TASK: [JobState; 3] = [JobState::Queued, JobState::Saved, JobState::Cancelled];

/// The end of a run.
pub struct Ended {
    pub report: Report,
    pub error: Option<Error>,
    /// Accepted tasks that the ledger could not record.
    pub unrecorded: Vec<TaskRef>,
    pub was_interrupted: bool,
    /// Why a budget that the ledger contains does not allow the queued jobs.
    pub budget: Option<String>,
}

/// Runs until no job can continue, and prints the report.
pub async fn drive(
    batch: Batch,
    interrupts: &Interrupts,
    resume: &Resume<'_>,
) -> Result<Ended, Failure> {
    let context = resume.context;
    let ledger = batch.ledger().clone();
    let client = batch.client().clone();
    let (sender, mut changes) = mpsc::unbounded_channel();
    // Fails only if nobody shows the progress any more.
    let mut batch = batch.on_change(move |job| drop(sender.send(job.clone())));
    let mut progress = Progress::new(&context.output, &ledger.report().await?);
    let mut looks = look(ledger.clone(), progress.has_counts());
    let mut paused = BTreeSet::new();
    let mut is_stopping = false;
    let outcome = {
        let mut run = pin!(batch.resume());
        loop {
            tokio::select! {
                biased;
                () = interrupts.second() => break None,
                () = interrupts.first(), if !is_stopping => {
                    is_stopping = true;
                    context.output.stopping();
                }
                Some(job) = changes.recv() => progress.changed(&job),
                Some(look) = looks.recv() => {
                    if let Some(report) = look.report {
                        progress.update(report.rows());
                    }
                    note_pauses(resume, &paused, &look.paused);
                    paused = look.paused;
                }
                outcome = &mut run => break Some(outcome),
            }
        }
    };
    drop((batch, looks));
    let (error, unrecorded) = match outcome {
        Some(outcome) => {
            while let Some(job) = changes.recv().await {
                progress.changed(&job);
            }
            let error = outcome.err();
            let unrecorded = error.as_ref().map(|error| error.tasks().to_vec());
            (error, unrecorded.unwrap_or_default())
        }
        // The report contains submissions that are in flight after that.
        None => {
            context.output.last_responses(LAST_SUBMISSIONS);
            let accepted = client.drain(LAST_SUBMISSIONS).await.unwrap_or_default();
            (None, unrecorded(&ledger, accepted).await)
        }
    };
    for task in &unrecorded {
        context.output.unrecorded(task, &context.save_command(task));
    }
    let report = match ledger.report().await {
        Ok(report) => report,
        Err(other) => {
            let first = error.unwrap_or(other);
            return Err(Failure::from(first).with_unrecorded(unrecorded));
        }
    };
    progress.finish(&report)?;
    let was_interrupted = is_stopping || interrupts.happened();
    let budget = if report.count(JobState::Queued) > 0 { budget(&ledger).await } else { None };
    Ok(Ended { report, error, unrecorded, was_interrupted, budget })
}

/// The accepted tasks that the ledger does not contain.
async fn unrecorded(ledger: &Ledger, mut accepted: Vec<TaskRef>) -> Vec<TaskRef> {
    if accepted.is_empty() {
        return accepted;
    }
    let states = JobState::ALL.into_iter().filter(|state| !WITHOUT_OPEN_TASK.contains(state));
    let jobs = ledger.list(&Filter::all().states(states), 0, usize::MAX).await;
    let jobs = jobs.unwrap_or_default();
    let ids: HashSet<_> = jobs.iter().filter_map(|job| job.task_id.as_deref()).collect();
    accepted.retain(|task| !ids.contains(task.id()));
    accepted
}

/// What other processes may have changed.
struct Look {
    report: Option<Report>,
    paused: BTreeSet<Scope>,
}

/// Reads the ledger until the receiver is dropped. A task of its own reads it: between two polls,
/// the run may have the connection.
fn look(ledger: Ledger, counts: bool) -> mpsc::Receiver<Look> {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        while !sender.is_closed() {
            let start = Instant::now();
            let report = if counts { ledger.report().await.ok() } else { None };
            // Errors are those of the run, too, which reports them.
            if let Ok(limits) = ledger.limits().await {
                let paused = limits.into_iter().filter(|limit| limit.is_paused);
                let paused = paused.map(|limit| limit.scope).collect();
                let _ = sender.send(Look { report, paused }).await;
            }
            let pause = LOOKS.max(start.elapsed() * SHARE);
            tokio::select! {
                () = sender.closed() => {}
                () = time::sleep(pause) => {}
            }
        }
    });
    receiver
}

/// A paused run should not look as if it had stopped working.
fn note_pauses(resume: &Resume<'_>, before: &BTreeSet<Scope>, now: &BTreeSet<Scope>) {
    let output = &resume.context.output;
    for scope in now.difference(before) {
        let (shown, command) = (one_line(&scope.to_string()), resume.after_pause(scope));
        output.note(&format!("paused: {shown}; `{command}` continues"));
    }
    for scope in before.difference(now) {
        output.note(&format!("resumed: {}", one_line(&scope.to_string())));
    }
}

/// Why a budget that the ledger contains does not allow the queued jobs. The budget of the run has
/// an option, which its caller knows.
async fn budget(ledger: &Ledger) -> Option<String> {
    let queued = ledger.list(&Filter::all().state(JobState::Queued), 0, 100).await.ok()?;
    let kinds: BTreeSet<_> = queued.into_iter().map(|job| (job.operation, job.group)).collect();
    for (operation, group) in kinds {
        let refusal = ledger.refusal(&operation, group.as_deref()).await.ok()?;
        if let Some(error) = refusal.filter(|error| error.kind() == ErrorKind::Budget) {
            return Some(error.to_string());
        }
    }
    None
}
