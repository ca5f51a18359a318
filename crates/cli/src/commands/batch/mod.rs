//! `kiln batch`: many jobs from a file, and the ledger that records them.

mod advance;
mod jobs;
pub mod ledgers;
mod limits;
pub mod place;
mod print;
mod progress;
mod reconcile;
mod report;
mod resolve;
mod run;
mod selection;

use clap::{ArgMatches, Command, FromArgMatches as _, Subcommand};

pub use self::selection::with_jobs;
use self::{
    place::{Access, Place, Places},
    print::print_job,
};
use crate::{context::Context, failure::Failure};
use imagekiln::Operation;

pub const NAME: &str = "batch";

/// The command whose subcommands, and not the command itself, have `--ledger`.
const JOBS: &str = "jobs";

/// The commands besides `run`, whose options depend on the model, and `advance`, which opens its
/// ledger itself.
#[derive(Subcommand)]
enum Action {
    Status(report::StatusOptions),
    Report(report::ReportOptions),
    Limits(limits::Options),
    /// Retry, cancel, prioritize, forget or archive jobs
    #[command(
        subcommand,
        disable_help_subcommand = true,
        after_help = "`kiln batch status --all` lists the jobs."
    )]
    Jobs(jobs::Change),
    Resolve(resolve::Options),
    Reconcile(reconcile::Options),
    /// Accept the pictures of another ledger, or a ledger that was moved
    #[command(
        after_help = "Jobs become `saved` if the file next to a picture has their name and their \
                      request. The next run pays for the others. Sends nothing.",
        mut_arg("output", |arg| arg.help("The directory or the bucket with the pictures"))
    )]
    Adopt(Places),
}

pub fn command(chosen: &'static Operation) -> Command {
    Action::augment_subcommands(
        Command::new(NAME).subcommands([run::command(chosen), advance::command()]),
    )
    .mut_subcommands(|command| match command.get_name() {
        JOBS => command.mut_subcommands(place::with_ledger),
        _ => place::with_ledger(command),
    })
    .about("Run many jobs from a file or a matrix, and resume them")
    .subcommand_required(true)
    .arg_required_else_help(true)
    .disable_help_subcommand(true)
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let Some((name, options)) = matches.subcommand() else {
        return Err(Failure::usage("no command given"));
    };
    match name {
        run::NAME => return run::execute(context, options).await,
        advance::NAME => return advance::execute(context, options).await,
        _ => {}
    }
    let action = Action::from_arg_matches(matches)?;
    let options = options.subcommand().map_or(options, |(_, options)| options);
    let given = options.get_one::<String>(place::LEDGER).map(String::as_str);
    let (place, access) = match &action {
        Action::Adopt(places) => (places.ledger()?.ok_or_else(place::missing)?, Access::Run),
        _ => (Place::given(given)?, Access::Manage),
    };
    let ledger = place.open(context.process(), access).await?;
    match action {
        Action::Status(options) => report::status(context, &place, &ledger, options).await,
        Action::Report(options) => report::write(context, &place, &ledger, options).await,
        Action::Limits(options) => limits::execute(context, &ledger, options).await,
        Action::Jobs(change) => jobs::change(context, &ledger, change).await,
        Action::Resolve(options) => resolve::execute(context, &ledger, options).await,
        Action::Reconcile(options) => reconcile::execute(context, &ledger, options).await,
        Action::Adopt(Places { output, .. }) => {
            let changed = ledger.adopt_output(&output).await?;
            changed.iter().try_for_each(|job| print_job(&context.output, job))
        }
    }
}
