//! `kiln batch status`: prints the states of the jobs of a ledger.

use clap::Args;
use serde_json::Value;

use super::{
    place::{Access, LedgerOption, Place},
    progress::{directory, job_event, job_line, report_event, report_table},
    select,
};
use crate::{
    context::Context,
    failure::Failure,
    text::{json, sanitize::quoted, table::wrapped},
};
use imagekiln_batch::{Filter, JobState, JobStatus, Report};

/// The states in which a person decides what happens next.
const NEEDS_ATTENTION: [JobState; 4] =
    [JobState::Failed, JobState::Moderated, JobState::Expired, JobState::Unknown];

/// Show the jobs of a ledger by state, and list those that need attention
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    ledger: LedgerOption,
    /// List the jobs in this state instead; repeat it for several
    #[arg(long, value_delimiter = ',', value_parser = select::state(&JobState::ALL))]
    state: Vec<JobState>,
    /// List all jobs
    #[arg(long, conflicts_with = "state")]
    all: bool,
}

pub async fn run(context: &Context, options: Options) -> Result<(), Failure> {
    let place = options.ledger.place()?;
    let ledger = place.open(context.process(), Access::Read).await?;
    let states = match options.state {
        _ if options.all => JobState::ALL.to_vec(),
        states if states.is_empty() => NEEDS_ATTENTION.to_vec(),
        states => states,
    };
    let jobs = ledger.list(&Filter::all().states(states), 0, usize::MAX).await?;
    let report = ledger.report().await?;
    let people = || {
        let width = (context.process().stdout.columns)();
        let directory = directory(context.process());
        let lines: Vec<_> = jobs.iter().map(|job| job_line(job, &directory)).collect();
        let lines = wrapped(&lines.join("\n"), width);
        let table = report_table(&report).text(width);
        let parts = [vec![table, lines], hints(&place, &jobs)].concat();
        if report.rows().is_empty() {
            return "the ledger contains no jobs".to_owned();
        }
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    };
    context.output.result(people, || for_programs(&place, &report, &jobs))
}

/// The advice for the listed jobs.
fn hints(place: &Place, jobs: &[JobStatus]) -> Vec<String> {
    let with_state = |states: &[JobState]| jobs.iter().any(|job| states.contains(&job.state));
    let ledger = quoted(&place.to_string());
    let mut hints = Vec::new();
    if with_state(&[JobState::Unknown]) {
        hints.push(format!(
            "unknown jobs may have been billed: check your usage with the service, then run\n  \
             kiln batch resolve NAME --task ID --ledger {ledger}\n  \
             kiln batch resolve NAME --paid --ledger {ledger}\n  \
             kiln batch resolve NAME --not-paid --ledger {ledger}"
        ));
    }
    if with_state(&[JobState::Failed, JobState::Moderated, JobState::Expired]) {
        hints.push(format!(
            "to queue jobs again that ended without a picture, and pay for them again, run\n  \
             kiln batch retry NAME --ledger {ledger}"
        ));
    }
    hints
}

fn for_programs(place: &Place, report: &Report, jobs: &[JobStatus]) -> Value {
    let listed = jobs.iter().map(job_event).collect();
    let ledger = place.to_string().into();
    let members = [("event", "status".into()), ("ledger", ledger), ("listed", listed)];
    json::with(report_event(report.rows()), members)
}
