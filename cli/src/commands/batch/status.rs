//! `kiln batch status`: prints the states of the jobs of a ledger.

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::Value;

use super::{
    place::{self, Place},
    progress::{job_event, report_event, report_table},
    select,
};
use crate::{
    context::Context,
    failure::Failure,
    text::{
        json,
        sanitize::{one_line, printable, quoted},
        table::wrapped,
    },
};
use imagekiln_batch::{Filter, JobState, JobStatus, Report};

pub const NAME: &str = "status";

/// The states in which a person decides what happens next.
const NEEDS_ATTENTION: [JobState; 4] =
    [JobState::Failed, JobState::Moderated, JobState::Expired, JobState::Unknown];

pub fn command() -> Command {
    Command::new(NAME)
        .about("Show the jobs of a ledger by state, and list those that need attention")
        .arg(place::arg("the working directory"))
        .arg(
            select::state_arg(&JobState::ALL)
                .help("List the jobs in this state instead; repeat it for several"),
        )
        .arg(
            Arg::new("all")
                .long("all")
                .action(ArgAction::SetTrue)
                .conflicts_with("state")
                .help("List all jobs"),
        )
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let (place, ledger) = place::open_to_read(context.process(), matches).await?;
    let states = if matches.contains_id("state") {
        select::states(matches)
    } else if matches.get_flag("all") {
        JobState::ALL.to_vec()
    } else {
        NEEDS_ATTENTION.to_vec()
    };
    let jobs = ledger.list(&Filter::all().states(states), 0, usize::MAX).await?;
    let report = ledger.report().await?;
    let width = (context.process().stdout.columns)();
    context.output.result(
        || for_people(&place, &report, &jobs, width),
        || for_programs(&place, &report, &jobs),
    )
}

fn for_people(place: &Place, report: &Report, jobs: &[JobStatus], width: Option<usize>) -> String {
    if report.rows().is_empty() {
        return "the ledger contains no jobs".to_owned();
    }
    let mut text = report_table(report).text(width);
    if !jobs.is_empty() {
        text += "\n";
    }
    for job in jobs {
        let details = job.reason.as_deref().or(job.location.as_deref());
        let details = details.map(|text| format!(": {}", printable(text))).unwrap_or_default();
        let line = format!("\n{}: {}{details}", one_line(&job.name), job.state);
        text += &wrapped(&line, width);
    }
    for line in hints(place, jobs) {
        text += &format!("\n\n{line}");
    }
    text
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
    json::with(report_event(report), members)
}
