//! `kiln batch retry`, `forget` and `archive`: jobs that have ended.

use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::{
    place::{Access, LedgerOption},
    progress::print_job,
    select,
};
use crate::{
    context::Context,
    failure::Failure,
    text::{parse::duration, sanitize::one_line},
};
use imagekiln::text::counted;
use imagekiln_batch::{JobState, Ledger};

/// Queue jobs again that ended without a picture
#[derive(Args)]
#[command(after_help = "Sends nothing. A run that is open, or the next one, submits the jobs, \
                        which may be billed again.")]
pub struct Retry {
    /// The names of jobs
    #[arg(value_name = "NAME", required_unless_present = "state", conflicts_with = "state")]
    names: Vec<String>,
    /// All jobs in this state; repeat it for several
    #[arg(long, value_delimiter = ',', value_parser = select::state(Ledger::RETRIABLE))]
    state: Vec<JobState>,
    #[command(flatten)]
    ledger: LedgerOption,
}

pub async fn retry(context: &Context, options: Retry) -> Result<(), Failure> {
    let ledger = options.ledger.open(context, Access::Manage).await?;
    for name in select::names(&ledger, options.names, options.state).await? {
        print_job(&context.output, &ledger.retry(&name).await?)?;
    }
    Ok(())
}

/// Remove jobs from the ledger; their pictures stay
#[derive(Args)]
#[command(after_help = "If a job file still contains a removed job, the next run adds it again, \
                        and pays for it again. What the removed jobs have cost still counts for \
                        --budget.")]
pub struct Forget {
    /// The names of jobs
    #[arg(value_name = "NAME", required_unless_present = "state", conflicts_with = "state")]
    names: Vec<String>,
    /// All jobs in this state; repeat it for several
    #[arg(long, value_delimiter = ',', value_parser = select::state(Ledger::FORGETTABLE))]
    state: Vec<JobState>,
    #[command(flatten)]
    ledger: LedgerOption,
}

pub async fn forget(context: &Context, options: Forget) -> Result<(), Failure> {
    let ledger = options.ledger.open(context, Access::Manage).await?;
    for name in select::names(&ledger, options.names, options.state).await? {
        ledger.forget(&name).await?;
        context.output.result(
            || format!("{}: removed", one_line(&name)),
            || json!({ "event": "removed", "name": name }),
        )?;
    }
    Ok(())
}

/// Remove finished jobs from the ledger; what proves their payment stays
#[derive(Args)]
#[command(
    after_help = "The jobs are no longer listed. Their submissions, tasks and costs stay in \
                        the ledger, and a run that adds the same jobs again does not pay for them."
)]
pub struct Archive {
    /// The jobs that ended at least this long ago, such as 12h or 30d
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    older_than: Duration,
    #[command(flatten)]
    ledger: LedgerOption,
}

pub async fn archive(context: &Context, options: Archive) -> Result<(), Failure> {
    let ledger = options.ledger.open(context, Access::Manage).await?;
    let jobs = ledger.archive(options.older_than).await?;
    context.output.result(
        || format!("{} archived", counted(jobs, "job")),
        || json!({ "event": "archived", "jobs": jobs }),
    )
}
