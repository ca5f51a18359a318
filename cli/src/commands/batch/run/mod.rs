//! `kiln batch run [JOBS]`: adds jobs to a ledger, and runs all jobs of the ledger.

mod arguments;
mod drive;
mod metrics;
mod outcome;
mod plan;
mod resume;
mod webhooks;

use std::{fs, path::Path, time::Duration};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use self::{drive::drive, resume::Resume, webhooks::Webhooks};
use super::place::{self, Place};
use crate::{
    args::{model, options},
    context::Context,
    failure::Failure,
    files::target::check_path,
    process::interrupt::Interrupts,
    service::session,
    text::parse::{credits, duration},
};
use imagekiln::Operation;
use imagekiln_batch::{Batch, JobState, Ledger, files::FileJob};

pub const NAME: &str = "run";

const IMAGE: &str = "An IMAGE is a path or an http(s) URL.";

const NOTES: &str = "\
    Without jobs, the command continues the jobs of the ledger. After Ctrl-C it submits no more \
    jobs, and waits for the active ones; a second Ctrl-C stops at once. Run it again to continue.";

pub fn command(chosen: &'static Operation) -> Command {
    let command = Command::new(NAME)
        .about("Run the jobs of a file or a matrix, or continue those of a ledger")
        .after_help(format!(
            "{}\n{}\n\n{NOTES}",
            model::description(chosen),
            model::notes(chosen, IMAGE)
        ));
    let own = options().into_iter().chain([metrics::arg()]).chain(webhooks::args());
    let options: Vec<Arg> = own.chain(options::shared(options::RUNNING)).collect();
    arguments::of_model(command, chosen, &options)
}

fn options() -> [Arg; 9] {
    let option = |name: &'static str| Arg::new(name).long(name).help_heading("Run");
    let count = |name| option(name).value_name("N").value_parser(value_parser!(u16).range(1..));
    [
        place::output_arg("Where to save the pictures: a directory, or the URL of a bucket"),
        place::arg(place::IN_OUTPUT),
        count("max-active")
            .help("The maximum number of jobs between submission and saved picture [default: 24]"),
        option("budget").value_name("CREDITS").value_parser(credits).help(
            "The maximum cost of all submissions of the ledger, including earlier runs; \
                 `kiln batch budget` replaces it",
        ),
        option("price")
            .value_name("CREDITS")
            .value_parser(credits)
            .help("The price of a job, for --budget and --dry-run, until the ledger contains one"),
        count("workers").help("The number of workers in this process [default: 1]"),
        option("archive-after")
            .value_name("DURATION")
            .value_parser(duration)
            .help("Archive jobs this long after they ended, such as 30d; see `kiln batch archive`"),
        option("pay-again").action(ArgAction::SetTrue).help(
            "Submit jobs although another ledger has paid for pictures of --output, or this one \
             was copied or has lost submissions",
        ),
        option("dry-run")
            .action(ArgAction::SetTrue)
            .help("Validate all jobs and print what would run; sends nothing, and needs no key"),
    ]
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let output = matches.get_one::<String>("output").map(String::as_str);
    output.map_or(Ok(()), |output| check_path(Path::new(output)))?;
    let output = output.unwrap_or_default();
    let place = place::given_or_in(matches, output)?;
    let Some(source) = arguments::source(matches)? else {
        return continue_ledger(context, matches, output, place).await;
    };
    let defaults = arguments::defaults(context, matches, &source)?;
    let jobs = source.read(&context.output, &defaults)?;
    if matches.get_flag("dry-run") {
        let known = plan::Known::read(context.process(), place.as_ref()).await?;
        let price = matches.get_one::<f64>("price").copied();
        return plan::print(context, &source, &jobs, &known, price, output);
    }
    run(context, matches, output, place, jobs).await
}

/// Continues the jobs of an existing ledger.
async fn continue_ledger(
    context: &Context,
    matches: &ArgMatches,
    output: &str,
    place: Option<Place>,
) -> Result<(), Failure> {
    let has_ledger = place.as_ref().is_some_and(Place::may_exist);
    if !has_ledger || arguments::describe_jobs(matches) || matches.get_flag("dry-run") {
        return Err(Failure::usage("no jobs given")
            .advise("nothing was sent; pass a job file, --prompt-file or --prompt"));
    }
    run(context, matches, output, place, Vec::new()).await
}

async fn run(
    context: &Context,
    matches: &ArgMatches,
    output: &str,
    place: Option<Place>,
    jobs: Vec<FileJob>,
) -> Result<(), Failure> {
    let place = place.ok_or_else(place::missing)?;
    check_features(output)?;
    let (mut client, _simulator) = session::client(context).await?;
    let webhooks = Webhooks::listen(context.process(), matches).await?;
    if let Some(webhooks) = &webhooks {
        client = webhooks.sign(client);
    }
    let metrics = metrics::listen(context, matches).await?;
    let ledger = open(context, &place, matches, output).await?;
    let mut batch = Batch::open(client, ledger.clone())?;
    ledger.add(jobs.into_iter().map(Into::into)).await?;
    check_simulated(context, &ledger).await?;
    if let Some(webhooks) = webhooks {
        batch = webhooks.serve(batch);
    }
    if let Some(listener) = metrics {
        metrics::serve(listener, ledger.clone());
    }
    let interrupts = Interrupts::listen(context.process())?;
    let signal = interrupts.clone();
    let batch = with_options(batch, context, matches)
        .save_to(output)
        .stop_when(async move { signal.first().await });
    let resume = Resume { context, matches, output, place: &place };
    outcome::check(drive(batch, &interrupts, &resume).await?, &resume)
}

/// Checks that this program can save to the output, before the ledger is created.
fn check_features(output: &str) -> Result<(), Failure> {
    let buckets = [
        ("s3", "s3", cfg!(feature = "s3")),
        ("gs", "gcs", cfg!(feature = "gcs")),
        ("az", "azure", cfg!(feature = "azure")),
        ("abfss", "azure", cfg!(feature = "azure")),
    ];
    let scheme = output.split_once("://").map(|(scheme, _)| scheme);
    match buckets.iter().find(|(name, ..)| Some(*name) == scheme) {
        Some((name, feature, false)) => {
            Err(Failure::usage(format!("this build of kiln cannot save to {name}:// URLs"))
                .advise(format!("install it with the Cargo feature `{feature}`")))
        }
        _ => Ok(()),
    }
}

/// Opens the ledger, and creates its directory if that is the output.
async fn open(
    context: &Context,
    place: &Place,
    matches: &ArgMatches,
    output: &str,
) -> Result<Ledger, Failure> {
    if !matches.contains_id("ledger") {
        fs::create_dir_all(output).map_err(|error| {
            Failure::file(format!("could not create the directory {output}"), error)
                .advise("nothing was sent; pass another --output")
        })?;
    }
    place.open(context.process()).await
}

fn with_options(mut batch: Batch, context: &Context, matches: &ArgMatches) -> Batch {
    let jobs = matches.get_one::<u16>("max-active").copied();
    if let Some(jobs) = jobs.or_else(|| context.settings.max_active()) {
        batch = batch.max_active(jobs.into());
    }
    if let Some(credits) = matches.get_one::<f64>("budget") {
        batch = batch.budget(*credits);
    }
    if let Some(credits) = matches.get_one::<f64>("price") {
        batch = batch.price(*credits);
    }
    if let Some(age) = matches.get_one::<Duration>("archive-after") {
        batch = batch.archive_after(*age);
    }
    if matches.get_flag("pay-again") {
        batch = batch.pay_again();
    }
    if let Some(workers) = matches.get_one::<u16>("workers") {
        batch = batch.workers((*workers).into());
    }
    batch
}

/// Refuses a ledger with tasks that an in-process simulator cannot have: each of them would be
/// polled in vain until its deadline.
async fn check_simulated(context: &Context, ledger: &Ledger) -> Result<(), Failure> {
    let report = ledger.report().await?;
    let active = report.count(JobState::Submitted) + report.count(JobState::Ready);
    if !context.shared.simulate || active == 0 {
        return Ok(());
    }
    let plural = if active == 1 { "job waits for a task" } else { "jobs wait for tasks" };
    let problem = format!("{active} {plural} that a new in-process simulator does not have");
    Err(Failure::usage(problem).advise(
        "nothing was sent; remove --simulate if the service has the tasks, or start a new ledger; \
         `kiln simulate` in another terminal keeps the tasks of several runs",
    ))
}
