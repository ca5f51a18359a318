//! `kiln batch cancel`, `priority`, `retry`, `resolve`, `adopt`, `forget` and `archive`: change
//! jobs.

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::json;

use super::{
    place::{Places, state},
    print::print_job,
    resolve,
    selection::Selection,
};
use crate::{context::Context, failure::Failure, text::parse::duration};
use imagekiln::text::counted;
use imagekiln_batch::{Filter, JobState, Ledger};

/// A change of jobs.
#[derive(Subcommand)]
pub enum Change {
    /// Cancel jobs that are not submitted
    #[command(after_help = "A run that is open does not submit them. `kiln batch retry` queues \
                            them again.")]
    Cancel(Selection),
    /// Set the priority of jobs that are not submitted
    #[command(
        override_usage = "kiln batch priority [OPTIONS] <N> \
                          <NAME|--from <FILE>|--model <MODEL>|--group <NAME>|--all>...",
        after_help = "A worker has up to 32 jobs that it is about to submit. They keep their turn."
    )]
    Priority {
        /// Jobs with a higher priority are submitted first; that of new jobs is 0
        #[arg(value_name = "N", allow_negative_numbers = true)]
        priority: i64,
        #[command(flatten)]
        jobs: Selection,
    },
    /// Queue jobs again that ended without a picture
    #[command(
        after_help = "Sends nothing. A run that is open, or the next one, submits the jobs, which \
                      may be billed again. It downloads `damaged` pictures again and pays nothing \
                      for them.",
        mut_arg("state", |arg| arg.value_parser(state(Ledger::RETRIABLE)))
    )]
    Retry(Ended),
    Resolve(resolve::Options),
    /// Accept the pictures of another ledger, or a ledger that was moved
    #[command(
        after_help = "Jobs become `saved` if the file next to a picture has their name and their \
                      request. The next run pays for the others. Sends nothing.",
        mut_arg("output", |arg| arg.help("The directory or the bucket with the pictures"))
    )]
    Adopt(Places),
    /// Remove jobs from the ledger; their pictures stay
    #[command(
        after_help = "If a job file still contains a removed job, the next run adds it again, and \
                      pays for it again. What the removed jobs have cost still counts for \
                      --budget.",
        mut_arg("state", |arg| arg.value_parser(state(Ledger::FORGETTABLE)))
    )]
    Forget(Ended),
    /// Remove finished jobs from the ledger; what proves their payment stays
    #[command(after_help = "The jobs are no longer listed. Their submissions, tasks and costs \
                            stay in the ledger, and a run that adds the same jobs again does not \
                            pay for them.")]
    Archive {
        /// The jobs that ended at least this long ago, such as 12h or 30d
        #[arg(long, value_name = "DURATION", value_parser = duration)]
        older_than: Duration,
    },
}

/// The ended jobs to change.
#[derive(Args)]
pub struct Ended {
    #[command(flatten)]
    jobs: Selection,
    /// Only jobs in this state; repeat it for several
    #[arg(long, value_delimiter = ',', value_parser = state(&JobState::ALL))]
    state: Vec<JobState>,
}

pub async fn change(context: &Context, ledger: &Ledger, change: Change) -> Result<(), Failure> {
    let output = &context.output;
    let queued = async |jobs: Selection| {
        let jobs = jobs.read(context.process(), ledger, false).await?;
        jobs.must_be(ledger, &[JobState::Queued]).await?;
        Ok::<_, Failure>(jobs.filter)
    };
    let (jobs, event, done) = match change {
        Change::Cancel(jobs) => {
            (ledger.cancel(&queued(jobs).await?).await?, "cancelled", "cancelled")
        }
        Change::Retry(jobs) => {
            let jobs = jobs.read(context, ledger, Ledger::RETRIABLE).await?;
            (ledger.retry_all(&jobs, u64::MAX).await?, "retried", "queued again")
        }
        Change::Forget(jobs) => {
            let jobs = jobs.read(context, ledger, Ledger::FORGETTABLE).await?;
            (ledger.forget_all(&jobs).await?, "removed", "removed")
        }
        Change::Archive { older_than } => {
            (ledger.archive(older_than).await?, "archived", "archived")
        }
        Change::Priority { priority, jobs } => {
            let jobs = ledger.set_priority(&queued(jobs).await?, priority).await?;
            return output.result(
                || format!("the priority of {} is {priority}", counted(jobs, "job")),
                || json!({ "event": "priority", "jobs": jobs, "priority": priority }),
            );
        }
        Change::Resolve(options) => return resolve::execute(context, ledger, options).await,
        Change::Adopt(Places { output: pictures, .. }) => {
            let changed = ledger.adopt_output(&pictures).await?;
            return changed.iter().try_for_each(|job| print_job(output, job));
        }
    };
    output.result(
        || format!("{} {done}", counted(jobs, "job")),
        || json!({ "event": event, "jobs": jobs }),
    )
}

impl Ended {
    /// Returns the jobs that are in one of the states.
    async fn read(
        self,
        context: &Context,
        ledger: &Ledger,
        states: &[JobState],
    ) -> Result<Filter, Failure> {
        let Self { jobs, state } = self;
        let jobs = jobs.read(context.process(), ledger, !state.is_empty()).await?;
        if state.is_empty() {
            jobs.must_be(ledger, states).await?;
            return Ok(jobs.filter);
        }
        Ok(jobs.filter.states(state))
    }
}
