//! `kiln batch`: many jobs from a file, and the ledger that records them.

mod ended;
mod limits;
mod paid;
mod place;
mod progress;
mod queued;
mod report;
mod run;
mod select;
mod spending;
mod status;

use clap::{ArgMatches, Command, FromArgMatches as _, Subcommand};

use crate::{context::Context, failure::Failure};
use imagekiln::Operation;

pub const NAME: &str = "batch";

/// The commands besides `run`, whose options depend on the model.
#[derive(Subcommand)]
enum Action {
    Status(status::Options),
    Report(report::Options),
    Spending(spending::Options),
    /// Stop submitting; what is submitted continues
    #[command(after_help = limits::STAYS_OPEN)]
    Pause(limits::ScopeOptions),
    /// Submit again after `pause`
    #[command(after_help = limits::AT_ONCE)]
    Resume(limits::ScopeOptions),
    Budget(limits::Budget),
    Cap(limits::Cap),
    Rate(limits::Rate),
    Limits(limits::Options),
    Cancel(queued::Cancel),
    Priority(queued::Priority),
    Retry(ended::Retry),
    Resolve(paid::Resolve),
    Adopt(paid::Adopt),
    Forget(ended::Forget),
    Archive(ended::Archive),
}

pub fn command(chosen: &'static Operation) -> Command {
    Action::augment_subcommands(Command::new(NAME).subcommand(run::command(chosen)))
        .about("Run many jobs from a file or a matrix, and resume them")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    if let Some((run::NAME, matches)) = matches.subcommand() {
        return run::execute(context, matches).await;
    }
    let action = Action::from_arg_matches(matches);
    match action.map_err(|error| Failure::usage(error.to_string()))? {
        Action::Status(options) => status::run(context, options).await,
        Action::Report(options) => report::run(context, options).await,
        Action::Spending(options) => spending::run(context, options).await,
        Action::Pause(options) => limits::pause(context, options).await,
        Action::Resume(options) => limits::resume(context, options).await,
        Action::Budget(options) => limits::budget(context, options).await,
        Action::Cap(options) => limits::cap(context, options).await,
        Action::Rate(options) => limits::rate(context, options).await,
        Action::Limits(options) => limits::list(context, options).await,
        Action::Cancel(options) => queued::cancel(context, options).await,
        Action::Priority(options) => queued::priority(context, options).await,
        Action::Retry(options) => ended::retry(context, options).await,
        Action::Resolve(options) => paid::resolve(context, options).await,
        Action::Adopt(options) => paid::adopt(context, options).await,
        Action::Forget(options) => ended::forget(context, options).await,
        Action::Archive(options) => ended::archive(context, options).await,
    }
}
