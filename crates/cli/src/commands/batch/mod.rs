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

use self::place::{Access, Place};
use crate::{context::Context, failure::Failure};
use imagekiln::Operation;

pub const NAME: &str = "batch";

/// The commands besides `run`, whose options depend on the model, and `advance`, which opens its
/// ledger itself.
#[derive(Subcommand)]
enum Action {
    Status(report::StatusOptions),
    Report(report::ReportOptions),
    #[command(flatten)]
    Limit(limits::Change),
    /// List the limits of a ledger, and what counts for them
    Limits,
    #[command(flatten)]
    Job(jobs::Change),
}

pub fn command(chosen: &'static Operation) -> Command {
    Action::augment_subcommands(
        Command::new(NAME).subcommands([run::command(chosen), advance::command()]),
    )
    .mut_subcommands(place::with_ledger)
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
    let given = options.get_one::<String>(place::LEDGER).map(String::as_str);
    let (place, access) = match &action {
        Action::Job(jobs::Change::Adopt(places)) => {
            (places.ledger()?.ok_or_else(place::missing)?, Access::Run)
        }
        _ => (Place::given(given)?, Access::Manage),
    };
    let ledger = place.open(context.process(), access).await?;
    match action {
        Action::Status(options) => report::status(context, &place, &ledger, options).await,
        Action::Report(options) => report::write(context, &place, &ledger, options).await,
        Action::Limit(change) => limits::change(context, &ledger, change).await,
        Action::Limits => limits::list(context, &ledger).await,
        Action::Job(change) => jobs::change(context, &ledger, change).await,
    }
}
