//! `kiln batch run [JOBS]`: adds jobs to a ledger, and runs all jobs of the ledger.

mod arguments;
mod drive;
mod identical;
mod plan;
mod servers;

use std::{fs, path::Path};

use clap::{Arg, ArgMatches, Command, FromArgMatches as _};

pub use self::drive::{LAST_SUBMISSIONS, unrecorded};
use self::{
    arguments::{JobOptions, RunOptions},
    drive::{Resume, check, drive},
    identical::Candidate,
    servers::Webhooks,
};
use super::{
    ledgers,
    place::{self, Access, Place},
    print::print_job,
};
use crate::{
    args::{
        model::{self, is_of_request},
        options,
    },
    context::Context,
    failure::Failure,
    files::target::check_path,
    history::durations::KeptDurations,
    jobfile::{FileJob, List, Upright},
    process::Interrupts,
    service,
};
use imagekiln::{Operation, text::counted};
use imagekiln_batch::{Batch, Filter, JobState, Ledger};

pub const NAME: &str = "run";

const IMAGE: &str = "An IMAGE is a path, or an http(s) or data: URL.";

const CONTINUE: &str = "Without JOBS, the jobs of the ledger continue.";

const NOTES: &str = "\
    Without JOBS, the jobs of the ledger continue. After Ctrl-C it submits no more \
    jobs, and waits for the active ones; a second Ctrl-C stops at once. Run it again to continue.";

pub fn command(chosen: &'static Operation) -> Command {
    let command = Command::new(NAME)
        .about("Run the jobs of a file or a matrix, or continue those of a ledger")
        .after_help(format!("`--help` lists all options. {CONTINUE}"))
        .after_long_help(format!(
            "{}\n{}\n\n{NOTES}",
            model::description(chosen),
            model::notes(chosen, IMAGE)
        ));
    let own: [Vec<Arg>; 3] = [
        options::of::<JobOptions>(),
        options::of::<RunOptions>(),
        options::shared(options::RUNNING),
    ];
    let command = model::with_fields(command, chosen, &arguments::ELSEWHERE, &own.concat());
    command
        .mut_arg("model", |arg| arg.default_value(chosen.name).hide_default_value(true))
        .mut_args(|arg| {
            let is_of_webhooks = matches!(arg.get_help_heading(), Some("Webhooks" | "Signature"));
            let is_hidden = arg.is_hide_short_help_set() || is_of_request(arg.get_id().as_str());
            arg.hide_short_help(is_hidden || is_of_webhooks)
        })
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let jobs = JobOptions::from_arg_matches(matches)?;
    let options = RunOptions::from_arg_matches(matches)?;
    check_path(Path::new(&options.places.output))?;
    let place = options.places.ledger()?;
    let Some(source) = jobs.source()? else {
        let has_ledger = place.as_ref().is_some_and(Place::may_exist);
        if !has_ledger || arguments::describe_jobs(matches) || options.dry_run || options.add_only {
            return Err(Failure::usage("no jobs given")
                .advise("nothing was sent; pass a job file, --prompt-file or --prompt"));
        }
        return run(context, matches, &options, place, New::default()).await;
    };
    let mut defaults = jobs.defaults(matches, &source)?;
    let pays_again = jobs.again;
    let copies = match &place {
        _ if !jobs.upright => None,
        Some(place) => Some(place.upright_copies(&options.places.output)),
        None => return Err(place::missing()),
    };
    defaults.upright = copies.clone().map(|folder| Upright { folder, is_dry_run: options.dry_run });
    let List { jobs, upright, .. } = source.read(&context.output, &defaults)?;
    let copies = copies.filter(|_| upright > 0).map(|folder| {
        let (count, folder) = (counted(upright as u64, "image"), folder.display());
        let verb = if upright == 1 { "is" } else { "are" };
        format!("{count} {verb} sent upright, from copies in {folder}")
    });
    let candidates = if pays_again { Vec::new() } else { identical::candidates(&jobs) };
    let jobs: Vec<_> = jobs.into_iter().map(FileJob::with_seed).collect();
    if options.dry_run {
        let ledger = match &place {
            Some(place) => place.find(context.process(), Access::Manage).await?,
            None => None,
        };
        if let Some(same) = identical::find(&candidates, ledger.as_ref()).await? {
            context.output.warning(&format!("{same}; a run needs --again to pay for them"));
        }
        let known = plan::Known::read(context, ledger.as_ref()).await?;
        return plan::print(context, (&source, &jobs), (upright, copies), &known, &options);
    }
    if let Some(copies) = &copies {
        context.output.note(copies);
    }
    if options.add_only {
        if context.shared.simulate {
            let problem = "--add-only sends nothing, so it cannot be simulated";
            return Err(Failure::usage(problem).advise("leave --simulate out"));
        }
        return add(context, &options, place, New { jobs, candidates }).await;
    }
    run(context, matches, &options, place, New { jobs, candidates }).await
}

/// The jobs that the arguments name, which the ledger may already contain.
#[derive(Default)]
struct New {
    jobs: Vec<FileJob>,
    candidates: Vec<Candidate>,
}

/// Adds the jobs to the ledger, and prints them. Sends nothing.
async fn add(
    context: &Context,
    options: &RunOptions,
    place: Option<Place>,
    new: New,
) -> Result<(), Failure> {
    let place = place.ok_or_else(place::missing)?;
    check_features(&options.places.output)?;
    let ledger = match place.find(context.process(), Access::Manage).await? {
        Some(ledger) => ledger,
        None => open(context, &place, options).await?,
    };
    ledgers::remember(context, &place)?;
    identical::check(&new.candidates, &ledger).await?;
    let added = Filter::named(new.jobs.iter().map(|job| &job.name));
    ledger.jobs().add(new.jobs.into_iter().map(Into::into)).await?;
    let jobs = ledger.jobs().list(&added).await?;
    jobs.iter().try_for_each(|job| print_job(&context.output, job))
}

async fn run(
    context: &Context,
    matches: &ArgMatches,
    options: &RunOptions,
    place: Option<Place>,
    new: New,
) -> Result<(), Failure> {
    let place = place.ok_or_else(place::missing)?;
    check_features(&options.places.output)?;
    let (client, _simulator) = service::client(context).await?;
    let webhooks = Webhooks::listen(context.process(), &options.webhooks).await?;
    let client = webhooks.iter().fold(client, |client, webhooks| webhooks.sign(client));
    let metrics = servers::listen_for_metrics(context, options.metrics).await?;
    let ledger = open(context, &place, options).await?;
    ledgers::remember(context, &place)?;
    let mut batch = Batch::open(client, ledger.clone())?;
    if context.shared.simulate {
        batch = batch.simulated();
    }
    batch.check_service().await?;
    let is_kept = context.records()?;
    let _durations =
        is_kept.then(|| KeptDurations::of(context.process(), batch.client())).flatten();
    identical::check(&new.candidates, &ledger).await?;
    ledger.jobs().add(new.jobs.into_iter().map(Into::into)).await?;
    set_prices(context, &ledger).await?;
    check_simulated(context, &ledger).await?;
    let batch = webhooks.into_iter().fold(batch, |batch, webhooks| webhooks.serve(batch));
    if let Some(listener) = metrics {
        servers::serve_metrics(listener, ledger.clone());
    }
    let interrupts = Interrupts::listen(context.process())?;
    let signal = interrupts.clone();
    let batch =
        with_options(batch, context, options).stop_when(async move { signal.first().await });
    let resume = Resume { context, matches, options, place: &place };
    check(drive(batch, &interrupts, &resume).await?, &resume)
}

/// Checks that this build of the program can save to the output. Runs before the ledger is created.
pub fn check_features(output: &str) -> Result<(), Failure> {
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

/// Opens the ledger. If it is in the output directory, creates this directory first.
async fn open(context: &Context, place: &Place, options: &RunOptions) -> Result<Ledger, Failure> {
    if options.places.ledger.is_none() {
        let output = &options.places.output;
        fs::create_dir_all(output).map_err(|error| {
            Failure::file(format!("could not create the directory {output}"), error)
                .advise("nothing was sent; pass another --output")
        })?;
    }
    place.open(context.process(), Access::Create).await
}

fn with_options(batch: Batch, context: &Context, options: &RunOptions) -> Batch {
    let batch = batch.save_to(&options.places.output);
    let most = options.max_active.or_else(|| context.settings.max_active()).map(usize::from);
    let batch = most.into_iter().fold(batch, Batch::max_active);
    let batch = options.budget.into_iter().fold(batch, Batch::budget);
    let batch = options.price.into_iter().fold(batch, Batch::price);
    let batch = options.archive_after.into_iter().fold(batch, Batch::archive_after);
    if options.pay_again { batch.pay_again() } else { batch }
}

/// Copies the prices of models from the settings to the ledger, except for models that have a price
/// in the ledger.
pub async fn set_prices(context: &Context, ledger: &Ledger) -> Result<(), Failure> {
    let known = ledger.limits().prices().await?;
    for (model, price) in context.settings.prices() {
        if !known.is_set(&model) {
            ledger.limits().set_price(&model, Some(price)).await?;
        }
    }
    Ok(())
}

/// With `--simulate`, refuses a ledger with submitted jobs: the new simulator does not have their
/// tasks, so the run would poll each of them in vain until its deadline.
async fn check_simulated(context: &Context, ledger: &Ledger) -> Result<(), Failure> {
    let report = ledger.reports().jobs().await?;
    let active = report.count(JobState::Submitted) + report.count(JobState::Ready);
    if !context.shared.simulate || active == 0 {
        return Ok(());
    }
    let jobs = counted(active, "submitted job");
    let problem = format!("a new in-process simulator does not have the tasks of {jobs}");
    Err(Failure::usage(problem).advise(
        "nothing was sent; remove --simulate if the service has the tasks, or start a new ledger; \
         `kiln simulate` in another terminal keeps the tasks of several runs",
    ))
}
