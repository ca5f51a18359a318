//! `kiln batch resolve`: records what a person has decided about unknown and damaged jobs.

use std::collections::HashSet;

use clap::Args;
use serde_json::json;

use super::{
    print::print_job,
    selection::{Selection, sent_at},
};
use crate::{
    args::selection::{SENT, Sent},
    context::Context,
    failure::{Exit, Failure},
    service,
    text::{Expected, one_line},
};
use imagekiln::text::counted;
use imagekiln_batch::{
    Batch, Error, Filter, JobState, JobStatus, Ledger, Prices, Resolution, Resolved,
};

/// The maximum number of jobs that a message names.
const NAMED: usize = 5;

/// Decide about `unknown` or `damaged` jobs
#[derive(Args)]
#[command(
    after_help = "A job that was billed and is resolved as not paid is paid for twice.",
    after_long_help = "\
        Check your usage with the service first: a job that was billed and is resolved as not paid \
        is paid for twice. Jobs must meet all conditions. Without names, only `unknown` jobs do. \
        The exit code is 10 if jobs were left out: they are in another state, or their requests \
        may still be sent.",
    mut_arg("all", |arg| arg.help("All `unknown` jobs").conflicts_with_all(SENT))
)]
pub struct Options {
    #[command(flatten)]
    jobs: Selection,
    #[command(flatten)]
    sent: Sent,
    #[command(flatten)]
    outcome: Outcome,
    /// Change nothing; print how many jobs would be resolved, and what they may have cost
    #[arg(long, conflicts_with = "task")]
    dry_run: bool,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct Outcome {
    /// It was billed: the job becomes `failed`, and its picture is not known or given up
    #[arg(long)]
    paid: bool,
    /// It was not billed: the next run submits the job again
    #[arg(long)]
    not_paid: bool,
    /// The damaged file is good enough: it gets the name of the picture, and the job becomes
    /// `saved`
    #[arg(long)]
    damaged: bool,
    /// It has this task, which is polled first: the next run saves the picture. For one job, which
    /// may have been resolved before
    #[arg(long, value_name = "ID", conflicts_with_all = ["from", "model", "group", "all"])]
    #[arg(conflicts_with_all = SENT)]
    task: Option<String>,
}

pub async fn execute(context: &Context, ledger: &Ledger, options: Options) -> Result<(), Failure> {
    let Options { jobs, sent, outcome, dry_run } = options;
    if let Some(task) = outcome.task {
        return resolve_with_task(context, ledger, &jobs.names, &task).await;
    }
    let mut jobs = jobs.read(context.process(), ledger, sent.is_given()).await?;
    jobs.filter = sent_at(jobs.filter, sent);
    let resolution = match outcome {
        Outcome { damaged: true, .. } if jobs.names.is_none() => {
            let problem = "--damaged needs the names of jobs";
            return Err(Failure::usage(problem).advise("pass names, or a file to --from"));
        }
        Outcome { damaged: true, .. } => Resolution::Damaged,
        Outcome { paid: true, .. } => Resolution::Paid,
        _ => Resolution::NotPaid,
    };
    let decision = Decision { resolution, dry_run, by_name: jobs.names.is_some() };
    let (decided, failed) = decision.carry_out(ledger, &jobs.filter).await?;
    decision.print(context, &decided, &ledger.limits().prices().await?)?;
    match failed {
        Some(error) => Err(error.into()),
        None => decision.check_complete(&decided),
    }
}

async fn resolve_with_task(
    context: &Context,
    ledger: &Ledger,
    names: &[String],
    task: &str,
) -> Result<(), Failure> {
    let [name] = names else {
        let problem = "--task is the task of one job";
        return Err(Failure::usage(problem).advise("nothing was changed; pass one name"));
    };
    let (client, _simulator) = service::client(context).await?;
    let batch = Batch::open(client, ledger.clone())?;
    print_job(&context.output, &batch.resolve_with_task(name, task).await?)
}

/// A decision about the jobs that match.
struct Decision {
    resolution: Resolution,
    dry_run: bool,
    /// Whether the person has named the jobs. Otherwise, only unknown jobs match.
    by_name: bool,
}

impl Decision {
    /// Resolves the jobs. Returns which were resolved and which were left out, and the first error
    /// about a damaged job, after which the other jobs are still resolved.
    async fn carry_out(
        &self,
        ledger: &Ledger,
        filter: &Filter,
    ) -> Result<(Resolved, Option<Error>), Error> {
        let (resolution, mut failed) = (self.resolution, None);
        let mut decided = match resolution {
            Resolution::Damaged => Resolved::default(),
            _ if self.dry_run => ledger.jobs().would_resolve(filter, resolution).await?,
            _ => ledger.jobs().resolve_all(filter, resolution).await?,
        };
        let Resolved { resolved, held, changed, .. } = &mut decided;
        if !self.by_name {
            return Ok((decided, None));
        }
        let listed = ledger.jobs().list(filter).await?;
        let done: HashSet<_> = resolved.iter().chain(&*held).map(|job| job.number).collect();
        // The loop below adds the named jobs that were left out, with their present states.
        changed.retain(|job| listed.iter().all(|listed| listed.number != job.number));
        for job in listed.into_iter().filter(|job| !done.contains(&job.number)) {
            let mut is_resolved =
                job.state == JobState::Damaged && resolution != Resolution::NotPaid;
            if is_resolved
                && !self.dry_run
                && let Err(error) = ledger.jobs().resolve(&job.name, resolution).await
            {
                is_resolved = false;
                failed.get_or_insert(error);
            }
            if is_resolved { &mut *resolved } else { &mut *changed }.push(job);
        }
        Ok((decided, failed))
    }

    fn print(&self, context: &Context, decided: &Resolved, prices: &Prices) -> Result<(), Failure> {
        let price =
            |job: &JobStatus| prices.of(&job.operation).map(|price| price.of_all(1, job.pixels));
        let cost = |job: &JobStatus| job.credits.or_else(|| price(job));
        let expected = Expected::sum(decided.resolved.iter().map(cost));
        let (name, past) = match self.resolution {
            Resolution::Paid => ("paid", "resolved as paid"),
            Resolution::NotPaid => ("not_paid", "resolved as not paid"),
            Resolution::Damaged => ("damaged", "accepted with damaged files"),
        };
        let people = || {
            let jobs = counted(decided.resolved.len() as u64, "job");
            let would = if self.dry_run { " would be" } else { "" };
            format!("{jobs}{would} {past}; expected price: {}", expected.text("job"))
        };
        let names =
            |jobs: &[JobStatus]| -> Vec<_> { jobs.iter().map(|job| job.name.clone()).collect() };
        let Resolved { resolved, held, changed, .. } = decided;
        let programs = || {
            json!({
                "jobs": resolved.len(),
                "left_out": held.len() + changed.len(),
                "names": {
                    "resolved": names(resolved), "held": names(held), "changed": names(changed),
                },
                "event": "resolved",
                "dry_run": self.dry_run,
                "decision": name,
                "credits": expected.credits,
                "without_price": expected.without_price,
            })
        };
        context.output.result(people, programs)
    }

    /// Fails if jobs were left out.
    fn check_complete(&self, decided: &Resolved) -> Result<(), Failure> {
        let Resolved { held, changed, .. } = decided;
        let count = held.len() + changed.len();
        if count == 0 {
            return Ok(());
        }
        let expected = match self.resolution {
            Resolution::Damaged => JobState::Damaged,
            _ => JobState::Unknown,
        };
        let held_ones =
            held.iter().map(|job| format!("`{}` may still be sent", one_line(&job.name)));
        let changed_ones = changed.iter().map(|job| {
            let name = one_line(&job.name);
            if job.state == expected {
                format!("`{name}` changed in the meantime")
            } else {
                format!("`{name}` is {}, not {expected}", job.state)
            }
        });
        let mut reasons: Vec<_> = held_ones.chain(changed_ones).take(NAMED).collect();
        if count > NAMED {
            reasons.push(format!("and {} more", count - NAMED));
        }
        let left_out = if count == 1 { "was left out" } else { "were left out" };
        let jobs = counted(count as u64, "job");
        let message = format!("{jobs} {left_out}: {}", reasons.join(", "));
        let failure = Failure::new("jobs_left", Exit::JobsLeft, message);
        Err(if held.is_empty() {
            failure.advise("`kiln batch status --all` shows their states")
        } else {
            failure.advise(
                "a worker lost its lease and may still send these requests: run the command again \
                 after at most 15 minutes",
            )
        })
    }
}
