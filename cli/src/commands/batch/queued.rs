//! `kiln batch cancel` and `priority`: change jobs that are not submitted.

use clap::Args;
use serde_json::json;

use super::{
    place::{Access, LedgerOption},
    select,
};
use crate::{context::Context, failure::Failure, text::sanitize::one_line};
use imagekiln::text::counted;
use imagekiln_batch::{Filter, JobState, Ledger};

/// Cancel jobs that are not submitted
#[derive(Args)]
#[command(after_help = "A run that is open does not submit them. `kiln batch retry` queues them \
                        again.")]
pub struct Cancel {
    #[command(flatten)]
    jobs: Queued,
    #[command(flatten)]
    ledger: LedgerOption,
}

/// Set the priority of jobs that are not submitted
#[derive(Args)]
#[command(
    override_usage = "kiln batch priority [OPTIONS] <N> \
                      <NAME|--all|--model <MODEL>|--group <NAME>>",
    after_help = "A worker has up to 32 jobs that it is about to submit. They keep their turn."
)]
pub struct Priority {
    /// Jobs with a higher priority are submitted first; that of new jobs is 0
    #[arg(value_name = "N", allow_negative_numbers = true)]
    priority: i64,
    #[command(flatten)]
    jobs: Queued,
    #[command(flatten)]
    ledger: LedgerOption,
}

/// The queued jobs to change.
#[derive(Args)]
#[group(required = true, multiple = true)]
struct Queued {
    /// The names of jobs, which must be `queued`
    #[arg(value_name = "NAME", conflicts_with_all = ["all", "model", "group"])]
    names: Vec<String>,
    /// All queued jobs
    #[arg(long, conflicts_with_all = ["model", "group"])]
    all: bool,
    /// All queued jobs of this model
    #[arg(long, hide_possible_values = true, value_parser = select::model())]
    model: Option<String>,
    /// All queued jobs of this group
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
}

pub async fn cancel(context: &Context, options: Cancel) -> Result<(), Failure> {
    let ledger = options.ledger.open(context, Access::Manage).await?;
    let jobs = options.jobs.change(&ledger, async |jobs| ledger.cancel(&jobs).await).await?;
    context.output.result(
        || format!("{} cancelled", counted(jobs, "job")),
        || json!({ "event": "cancelled", "jobs": jobs }),
    )
}

pub async fn priority(context: &Context, options: Priority) -> Result<(), Failure> {
    let ledger = options.ledger.open(context, Access::Manage).await?;
    let priority = options.priority;
    let change = async |jobs| ledger.set_priority(&jobs, priority).await;
    let jobs = options.jobs.change(&ledger, change).await?;
    context.output.result(
        || format!("the priority of {} is {priority}", counted(jobs, "job")),
        || json!({ "event": "priority", "jobs": jobs, "priority": priority }),
    )
}

impl Queued {
    /// Changes the jobs, and returns their number.
    async fn change(
        self,
        ledger: &Ledger,
        change: impl AsyncFn(Filter) -> Result<u64, imagekiln_batch::Error>,
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
