//! Runs a batch, shows its progress, and stops it at Ctrl-C.

use std::{pin::pin, time::Duration};

use super::super::progress::Progress;
use crate::{context::Context, failure::Failure, interrupt::Interrupts};
use imagekiln_batch::{Batch, Error, Report};

/// How long a stopped run waits for responses to submissions in flight.
const LAST_SUBMISSIONS: Duration = Duration::from_secs(5);

/// How a run ended.
pub struct Ended {
    pub report: Report,
    pub error: Option<Error>,
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
    let mut progress = Progress::new(context.output, &ledger.jobs().await?);
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
    let error = match outcome {
        Some(outcome) => {
            while let Some(job) = events.next().await {
                progress.changed(&job);
            }
            outcome.err()
        }
        // The report contains submissions that are in flight after that.
        None => {
            context.output.last_responses(LAST_SUBMISSIONS);
            let _ = client.drain(LAST_SUBMISSIONS).await;
            None
        }
    };
    let report = ledger.report().await?;
    progress.finish(&report)?;
    Ok(Ended { report, error, was_interrupted: is_stopping || interrupts.happened() })
}
