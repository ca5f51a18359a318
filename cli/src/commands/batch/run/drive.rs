//! Runs a batch, shows its progress, and stops it at Ctrl-C.

use std::{collections::HashSet, pin::pin, time::Duration};

use super::super::progress::Progress;
use crate::{context::Context, failure::Failure, interrupt::Interrupts};
use imagekiln::TaskRef;
use imagekiln_batch::{Batch, Error, Ledger, Report};

/// The time for which a stopped run waits for responses to submissions in flight.
const LAST_SUBMISSIONS: Duration = Duration::from_secs(5);

/// The end of a run.
pub struct Ended {
    pub report: Report,
    pub error: Option<Error>,
    /// Accepted tasks that the ledger could not record.
    pub unrecorded: Vec<TaskRef>,
    pub was_interrupted: bool,
}

/// Runs until no job can continue, and prints the report.
pub async fn drive(
    context: &Context,
    mut batch: Batch,
    interrupts: &Interrupts,
) -> Result<Ended, Failure> {
    let ledger = batch.ledger().clone();
    let client = batch.client().clone();
    let mut events = batch.events();
    let mut progress = Progress::new(&context.output, &ledger.jobs().await?);
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
                Some(job) = events.next() => progress.changed(&job),
                outcome = &mut run => break Some(outcome),
            }
        }
    };
    drop(batch);
    let (error, unrecorded) = match outcome {
        Some(outcome) => {
            while let Some(job) = events.next().await {
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
    Ok(Ended { report, error, unrecorded, was_interrupted })
}

/// The accepted tasks that the ledger does not contain.
async fn unrecorded(ledger: &Ledger, mut accepted: Vec<TaskRef>) -> Vec<TaskRef> {
    let jobs = ledger.jobs().await.unwrap_or_default();
    let ids: HashSet<_> = jobs.iter().filter_map(|job| job.task_id.as_deref()).collect();
    accepted.retain(|task| !ids.contains(task.id()));
    accepted
}
