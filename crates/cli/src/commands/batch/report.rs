//! `kiln batch status` and `report`: show what a ledger contains.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use clap::Args;
use serde_json::json;

use super::{
    place::{Place, state},
    print::{
        ListedJob, directory, job_line, outage_events, outage_lines, report_event, report_table,
        unknown_table,
    },
    selection::{Conditions, sent_at},
};
use crate::{
    args::selection::Sent,
    context::Context,
    failure::Failure,
    files,
    models::PROMPT,
    output::write_failed,
    pages::sheet,
    seeing,
    text::{
        Clock,
        json::{self, json_line},
        now, quoted, wrapped,
    },
};
use imagekiln_batch::{Error, Filter, JobState, Ledger, Outage, Prices, Report};

/// The states of jobs about which a person has to decide what happens next.
const NEEDS_ATTENTION: [JobState; 5] = [
    JobState::Damaged,
    JobState::Failed,
    JobState::Moderated,
    JobState::Expired,
    JobState::Unknown,
];

/// The number of jobs that are read at once. A large ledger is printed page by page, so that the
/// first jobs appear soon.
const PAGE: usize = 1_000;

/// Show the jobs of a ledger by state, and list those that need attention
#[derive(Args)]
pub struct StatusOptions {
    /// List the jobs in this state instead; repeat it for several
    #[arg(long, value_delimiter = ',', value_parser = state(&JobState::ALL))]
    state: Vec<JobState>,
    /// List jobs in all states
    #[arg(long, conflicts_with = "state")]
    all: bool,
    #[command(flatten)]
    conditions: Conditions,
    #[command(flatten)]
    sent: Sent,
}

pub async fn status(
    context: &Context,
    place: &Place,
    ledger: &Ledger,
    options: StatusOptions,
) -> Result<(), Failure> {
    let states = match options.state {
        _ if options.all => JobState::ALL.to_vec(),
        states if states.is_empty() => NEEDS_ATTENTION.to_vec(),
        states => states,
    };
    let filter = options.conditions.filter(Filter::states(states));
    let filter = sent_at(filter, options.sent);
    let (report, mut outages) = (ledger.reports().jobs().await?, ledger.limits().outages().await?);
    if report.count(JobState::Queued) == 0 {
        outages.clear();
    }
    let width = (context.process().stdout.columns)();
    let people = || match &report.rows[..] {
        [] => "the ledger contains no jobs\n".to_owned(),
        _ => {
            let held = wrapped(&outage_lines(&outages).join("\n"), width);
            let parts = [report_table(&report).text(width), held];
            let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            parts.join("\n\n") + "\n"
        }
    };
    // Each page is printed before the next one is read.
    let is_json = context.output.json;
    let print = |text: &str| context.process().write_on_stdout(text).or_else(write_failed);
    let prices = ledger.limits().prices().await?;
    print(&if is_json { status_begin(place, &report, &outages) } else { people() })?;
    let (mut listed, mut last) = (BTreeSet::new(), 0);
    loop {
        let jobs = match list(ledger, &prices, &filter, last).await {
            // Ends the JSON, although the list is incomplete: the exit code says that the command
            // failed.
            Err(error) if is_json => return print(END).and(Err(error.into())),
            jobs => jobs?,
        };
        let Some(end) = jobs.last() else { break };
        last = end.job.number;
        let events = || jobs.iter().map(|listed| json_line(&listed.event())).collect::<Vec<_>>();
        let (before, text) = if is_json {
            (if listed.is_empty() { "" } else { "," }, events().join(","))
        } else {
            let text = page_text(&jobs, &directory(context.process()), width) + "\n";
            (if listed.is_empty() { "\n" } else { "" }, text)
        };
        print(&format!("{before}{text}"))?;
        listed.extend(jobs.iter().map(|listed| listed.job.state));
    }
    let hints = hints(place, &listed);
    if is_json {
        print(END)
    } else if hints.is_empty() {
        Ok(())
    } else {
        print(&format!("\n{}\n", wrapped(&hints.join("\n\n"), width)))
    }
}

/// Returns a page of jobs for people: a line for each job, and a table of the unknown jobs below.
fn page_text(jobs: &[ListedJob], directory: &Path, width: Option<usize>) -> String {
    let is_unknown = |listed: &&ListedJob| listed.job.state == JobState::Unknown;
    let (unknown, others): (Vec<_>, Vec<_>) = jobs.iter().partition(is_unknown);
    let lines: Vec<_> = others.iter().map(|listed| job_line(&listed.job, directory)).collect();
    let mut parts = vec![wrapped(&lines.join("\n"), width)];
    if !unknown.is_empty() {
        parts.push(unknown_table(unknown).text(width));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

/// Returns the next jobs that match, in the order of the ledger. Unknown jobs also get their
/// prompts and expected costs, which a person compares with the usage.
async fn list(
    ledger: &Ledger,
    prices: &Prices,
    filter: &Filter,
    after: u64,
) -> Result<Vec<ListedJob>, Error> {
    let mut jobs = Vec::new();
    for job in ledger.jobs().page(filter, after, PAGE).await? {
        let (mut prompt, mut expected) = (None, None);
        if job.state == JobState::Unknown {
            // A request that cannot be read must not hide its job.
            let request = ledger.jobs().request(&job.name).await.ok().flatten();
            prompt = request.and_then(|request| request.text(PROMPT).map(str::to_owned));
            expected = prices.of(&job.operation).map(|price| price.of_all(1, job.pixels));
        }
        jobs.push(ListedJob { job, prompt, expected });
    }
    Ok(jobs)
}

/// Returns advice about the states of the listed jobs.
fn hints(place: &Place, listed: &BTreeSet<JobState>) -> Vec<String> {
    let with_state = |states: &[JobState]| states.iter().any(|state| listed.contains(state));
    let ledger = quoted(&place.to_string());
    let mut hints = Vec::new();
    if with_state(&[JobState::Unknown]) {
        hints.push(format!(
            "unknown jobs may have been billed: check your usage with the service, then run\n  \
             kiln batch resolve NAME --task ID --ledger {ledger}\n  \
             kiln batch resolve NAME... --paid --ledger {ledger}\n  \
             kiln batch resolve NAME... --not-paid --ledger {ledger}\n\
             to decide about many, run the last two with --from, --model, --group, --sent-after, \
             --sent-before or --all instead of names, and first with --dry-run; or, if the service \
             exports its usage:\n  \
             kiln batch reconcile USAGE --ledger {ledger} --dry-run"
        ));
    }
    if with_state(&[JobState::Damaged]) {
        hints.push(format!(
            "damaged pictures are paid for: these download one again in the next run, accept what \
             arrived, or give it up:\n  \
             kiln batch jobs retry NAME --ledger {ledger}\n  \
             kiln batch resolve NAME --damaged --ledger {ledger}\n  \
             kiln batch resolve NAME --paid --ledger {ledger}"
        ));
    }
    if with_state(&[JobState::Failed, JobState::Moderated, JobState::Expired]) {
        hints.push(format!(
            "to queue jobs again that ended without a picture, and pay for them again, run\n  \
             kiln batch jobs retry NAME --ledger {ledger}"
        ));
    }
    hints
}

/// The end of the status in JSON.
const END: &str = "]}\n";

/// Returns the beginning of the status in JSON. The listed jobs follow, and then [`END`].
fn status_begin(place: &Place, report: &Report, outages: &[Outage]) -> String {
    let members = [
        ("event", "status".into()),
        ("ledger", place.to_string().into()),
        ("outages", outage_events(outages)),
    ];
    let line = json_line(&json::with(report_event(report), members));
    format!("{},\"listed\":[", line.strip_suffix('}').unwrap_or(&line))
}

const FILE_NAME: &str = "report.html";

/// Write an HTML page with all pictures and jobs of a ledger
#[derive(Args)]
#[command(after_help = "The page contains prompts and thumbnails, and loads nothing from the \
                        network. Pictures below its directory are linked.")]
pub struct ReportOptions {
    /// Where to write the page; an existing file is replaced [default: report.html next to the
    /// ledger]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Open the page with the desktop's program for it
    #[arg(long)]
    open: bool,
    /// Only jobs in this state; repeat it for several
    #[arg(long, value_delimiter = ',', value_parser = state(&JobState::ALL))]
    state: Vec<JobState>,
    #[command(flatten)]
    conditions: Conditions,
    #[command(flatten)]
    sent: Sent,
}

pub async fn write(
    context: &Context,
    place: &Place,
    ledger: &Ledger,
    options: ReportOptions,
) -> Result<(), Failure> {
    let path = options.output.unwrap_or_else(|| place.directory().join(FILE_NAME));
    let failed = |error: io::Error| {
        Failure::file(format!("could not write {}", path.display()), error)
            .advise("pass another file to --output")
    };
    // The page links to pictures below its directory. Locations in the ledger have no symbolic
    // links, so this path must not have any either.
    let directory = fs::canonicalize(files::directory::parent(&path)).map_err(failed)?;
    let file = files::directory::temporary_file(&directory).map_err(failed)?;
    let spinner = context.output.spin("writing the report");
    let now = format!("{} UTC", Clock::utc().minute(now()));
    let filter = match options.state {
        states if states.is_empty() => Filter::default(),
        states => Filter::states(states),
    };
    let filter = sent_at(options.conditions.filter(filter), options.sent);
    let file = sheet::write(ledger, file, &filter, (&place.title(), &now), &directory).await?;
    drop(spinner);
    file.persist(&path).map_err(|error| failed(error.error))?;
    context.output.result(|| path.display().to_string(), || json!({ "path": path }))?;
    if options.open {
        seeing::open(&context.output, &path).await;
    }
    Ok(())
}
