//! `kiln batch jobs retry|cancel|priority|forget|archive`: changes jobs.

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::json;

use super::{
    place::state,
    selection::{Selection, sent_at},
};
use crate::{
    args::selection::Sent,
    context::Context,
    failure::{Exit, Failure},
    text::duration,
};
use imagekiln::text::counted;
use imagekiln_batch::{Filter, JobState, Ledger};

/// A change of jobs.
#[derive(Subcommand)]
pub enum Change {
    /// Queue jobs again that ended without a picture
    #[command(
        after_help = "Sends nothing. A run that is open, or the next one, submits the jobs, which \
                      may be billed again. It downloads `damaged` pictures again and pays nothing \
                      for them. Jobs must meet all conditions. Without --state, cancelled jobs are \
                      among them.",
        mut_arg("state", |arg| arg.value_parser(state(JobState::RETRIABLE))),
        mut_arg("all", |arg| arg.help("All jobs that ended without a picture"))
    )]
    Retry(Ended),
    /// Cancel jobs that are not submitted
    #[command(
        after_help = "A run that is open does not submit them. `kiln batch jobs retry` queues them \
                      again.",
        mut_arg("all", |arg| arg.help(ALL_QUEUED))
    )]
    Cancel(Selection),
    /// Set the priority of jobs that are not submitted
    #[command(
        after_help = "A worker has up to 32 jobs that it is about to submit. They keep their turn.",
        mut_arg("all", |arg| arg.help(ALL_QUEUED))
    )]
    Priority {
        /// Jobs with a higher priority are submitted first; that of new jobs is 0
        #[arg(value_name = "N", allow_negative_numbers = true)]
        priority: i64,
        #[command(flatten)]
        jobs: Selection,
    },
    /// Remove jobs from the ledger; their pictures stay
    #[command(
        after_help = "If a job file still contains a removed job, the next run adds it again, and \
                      pays for it again. What the removed jobs have cost still counts for \
                      --budget. Jobs must meet all conditions.",
        mut_arg("state", |arg| arg.value_parser(state(JobState::FORGETTABLE))),
        mut_arg("all", |arg| arg.help("All jobs in the states of --state"))
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
    #[command(flatten)]
    sent: Sent,
}

/// The help of `--all` for commands that change queued jobs.
const ALL_QUEUED: &str = "All queued jobs";

pub async fn change(context: &Context, ledger: &Ledger, change: Change) -> Result<(), Failure> {
    let output = &context.output;
    let queued = async |jobs: Selection| {
        let jobs = jobs.read(context.process(), ledger, false).await?;
        let named = jobs.must_be(ledger, &[JobState::Queued]).await?;
        Ok::<_, Failure>((jobs.filter, named))
    };
    let (jobs, named, event, done) = match change {
        Change::Cancel(jobs) => {
            let (jobs, named) = queued(jobs).await?;
            (ledger.jobs().cancel(&jobs).await?, named, "cancelled", "cancelled")
        }
        Change::Retry(jobs) => {
            let (jobs, named) = jobs.read(context, ledger, JobState::RETRIABLE).await?;
            (ledger.jobs().retry(&jobs, None).await?, named, "retried", "retried")
        }
        Change::Forget(jobs) => {
            if jobs.state.is_empty() && !jobs.jobs.has_names() {
                let problem = "no states are given";
                let advice = "nothing was changed; pass --state, such as --state failed, or names";
                return Err(Failure::usage(problem).advise(advice));
            }
            let (jobs, named) = jobs.read(context, ledger, JobState::FORGETTABLE).await?;
            (ledger.jobs().forget(&jobs).await?, named, "removed", "removed")
        }
        Change::Archive { older_than } => {
            (ledger.jobs().archive(older_than).await?, 0, "archived", "archived")
        }
        Change::Priority { priority, jobs } => {
            let (jobs, named) = queued(jobs).await?;
            let jobs = ledger.jobs().set_priority(&jobs, priority).await?;
            output.result(
                || format!("the priority of {} is {priority}", counted(jobs, "job")),
                || json!({ "event": "priority", "jobs": jobs, "priority": priority }),
            )?;
            return check_all(jobs, named);
        }
    };
    output.result(
        || format!("{} {done}", counted(jobs, "job")),
        || json!({ "event": event, "jobs": jobs }),
    )?;
    check_all(jobs, named)
}

/// Fails if not all jobs with given names were changed: after their states were checked, a run may
/// have submitted one of them.
fn check_all(changed: u64, named: u64) -> Result<(), Failure> {
    if changed >= named {
        return Ok(());
    }
    let (left, of) = (named - changed, counted(named, "job"));
    let message = format!("{left} of {of} changed in the meantime, and were left out");
    Err(Failure::new("jobs_left", Exit::JobsLeft, message)
        .advise("`kiln batch status --all` shows the states"))
}

impl Ended {
    /// Returns the filter for the jobs, and the number of jobs with given names, which the change
    /// must reach. Fails if one of these is not in one of `states`. With `--state` that number is
    /// 0, because jobs in other states are left out.
    async fn read(
        self,
        context: &Context,
        ledger: &Ledger,
        states: &[JobState],
    ) -> Result<(Filter, u64), Failure> {
        let Self { jobs, state, sent } = self;
        let is_conditional = !state.is_empty() || sent.is_given();
        let mut jobs = jobs.read(context.process(), ledger, is_conditional).await?;
        jobs.filter = sent_at(jobs.filter, sent);
        if state.is_empty() {
            let named = jobs.must_be(ledger, states).await?;
            return Ok((jobs.filter, named));
        }
        Ok((Filter { states: Some(state), ..jobs.filter }, 0))
    }
}
