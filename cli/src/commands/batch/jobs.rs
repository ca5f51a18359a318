//! `kiln batch cancel`, `priority`, `retry`, `resolve`, `adopt`, `forget` and `archive`: change
//! jobs.

use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};
use serde_json::json;

use super::{
    place::{self, model, state},
    print::print_job,
    resolve,
};
use crate::{
    context::Context,
    failure::Failure,
    text::{parse::duration, sanitize::one_line},
};
use imagekiln::text::counted;
use imagekiln_batch::{Error, Filter, JobState, Ledger};

/// A change of jobs.
#[derive(Subcommand)]
pub enum Change {
    /// Cancel jobs that are not submitted
    #[command(after_help = "A run that is open does not submit them. `kiln batch retry` queues \
                            them again.")]
    Cancel(Queued),
    /// Set the priority of jobs that are not submitted
    #[command(
        override_usage = "kiln batch priority [OPTIONS] <N> \
                          <NAME|--all|--model <MODEL>|--group <NAME>>",
        after_help = "A worker has up to 32 jobs that it is about to submit. They keep their turn."
    )]
    Priority {
        /// Jobs with a higher priority are submitted first; that of new jobs is 0
        #[arg(value_name = "N", allow_negative_numbers = true)]
        priority: i64,
        #[command(flatten)]
        jobs: Queued,
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
    #[command(after_help = "Jobs become `saved` if the file next to a picture has their name and \
                            their request. The next run pays for the others. Sends nothing.")]
    Adopt {
        /// The directory or the bucket with the pictures
        #[arg(long, short, value_name = "DIR-OR-URL", value_hint = ValueHint::DirPath)]
        #[arg(help_heading = "Output")]
        output: String,
        #[arg(long, value_name = "PLACE", value_hint = ValueHint::AnyPath)]
        #[arg(help = place::help(place::IN_OUTPUT), help_heading = "Ledger")]
        ledger: Option<String>,
    },
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

/// The queued jobs to change.
#[derive(Args)]
#[group(required = true, multiple = true)]
pub struct Queued {
    /// The names of jobs, which must be `queued`
    #[arg(value_name = "NAME", conflicts_with_all = ["all", "model", "group"])]
    names: Vec<String>,
    /// All queued jobs
    #[arg(long, conflicts_with_all = ["model", "group"])]
    all: bool,
    /// All queued jobs of this model
    #[arg(long, hide_possible_values = true, value_parser = model())]
    model: Option<String>,
    /// All queued jobs of this group
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
}

/// The ended jobs to change.
#[derive(Args)]
pub struct Ended {
    /// The names of jobs
    #[arg(value_name = "NAME", required_unless_present = "state", conflicts_with = "state")]
    names: Vec<String>,
    /// All jobs in this state; repeat it for several
    #[arg(long, value_delimiter = ',', value_parser = state(&JobState::ALL))]
    state: Vec<JobState>,
}

pub async fn change(context: &Context, ledger: &Ledger, change: Change) -> Result<(), Failure> {
    let output = &context.output;
    let changed = match change {
        Change::Cancel(jobs) => {
            let jobs = jobs.change(ledger, async |jobs| ledger.cancel(&jobs).await).await?;
            return output.result(
                || format!("{} cancelled", counted(jobs, "job")),
                || json!({ "event": "cancelled", "jobs": jobs }),
            );
        }
        Change::Priority { priority, jobs } => {
            let change = async |jobs| ledger.set_priority(&jobs, priority).await;
            let jobs = jobs.change(ledger, change).await?;
            return output.result(
                || format!("the priority of {} is {priority}", counted(jobs, "job")),
                || json!({ "event": "priority", "jobs": jobs, "priority": priority }),
            );
        }
        Change::Archive { older_than } => {
            let jobs = ledger.archive(older_than).await?;
            return output.result(
                || format!("{} archived", counted(jobs, "job")),
                || json!({ "event": "archived", "jobs": jobs }),
            );
        }
        Change::Resolve(options) => return resolve::execute(context, ledger, options).await,
        Change::Forget(jobs) => return forget(context, ledger, jobs).await,
        Change::Retry(jobs) => {
            for name in jobs.names(ledger).await? {
                print_job(output, &ledger.retry(&name).await?)?;
            }
            return Ok(());
        }
        Change::Adopt { output, .. } => ledger.adopt_output(&output).await?,
    };
    changed.iter().try_for_each(|job| print_job(output, job))
}

async fn forget(context: &Context, ledger: &Ledger, jobs: Ended) -> Result<(), Failure> {
    for name in jobs.names(ledger).await? {
        ledger.forget(&name).await?;
        context.output.result(
            || format!("{}: removed", one_line(&name)),
            || json!({ "event": "removed", "name": name }),
        )?;
    }
    Ok(())
}

impl Ended {
    /// The given names, or those of all jobs in the given states.
    async fn names(self, ledger: &Ledger) -> Result<Vec<String>, Error> {
        if !self.names.is_empty() {
            return Ok(self.names);
        }
        let jobs = ledger.list(&Filter::all().states(self.state), 0, usize::MAX).await?;
        Ok(jobs.into_iter().map(|job| job.name).collect())
    }
}

impl Queued {
    /// Changes the jobs, and returns their number.
    async fn change(
        self,
        ledger: &Ledger,
        change: impl AsyncFn(Filter) -> Result<u64, Error>,
    ) -> Result<u64, Failure> {
        if self.names.is_empty() {
            let filter = self.model.into_iter().fold(Filter::all(), Filter::operation);
            return Ok(change(self.group.into_iter().fold(filter, Filter::group)).await?);
        }
        for name in &self.names {
            check_queued(ledger, name).await?;
        }
        let mut jobs = 0;
        for name in &self.names {
            match change(Filter::all().name(name)).await? {
                // A run may have submitted it in between.
                0 => check_queued(ledger, name).await?,
                changed => jobs += changed,
            }
        }
        Ok(jobs)
    }
}

async fn check_queued(ledger: &Ledger, name: &str) -> Result<(), Failure> {
    let shown = one_line(name);
    match ledger.job(name).await? {
        Some(job) if job.state == JobState::Queued => Ok(()),
        Some(job) => Err(Failure::usage(format!(
            "job `{shown}` is {}, not queued; it was not changed",
            job.state
        ))),
        None => Err(Failure::usage(format!("the ledger has no job `{shown}`"))),
    }
}
