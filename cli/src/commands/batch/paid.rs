//! `kiln batch resolve` and `adopt`: tell a ledger what was paid for, if only a person knows.

use clap::{Args, ValueHint};

use super::{
    place::{self, Access, LedgerOption},
    progress::print_job,
};
use crate::{context::Context, failure::Failure, service::session};
use imagekiln_batch::{Batch, Resolution};

/// Record the outcome of the submission of an `unknown` job
#[derive(Args)]
#[command(after_help = "Check your usage with the service first: a job that was billed and is \
                        resolved as not paid is paid for twice.")]
pub struct Resolve {
    /// The name of the job
    name: String,
    #[command(flatten)]
    outcome: Outcome,
    #[command(flatten)]
    ledger: LedgerOption,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct Outcome {
    /// It was billed: the job becomes `failed`, and its picture is not known
    #[arg(long)]
    paid: bool,
    /// It was not billed: the next run submits the job again
    #[arg(long)]
    not_paid: bool,
    /// It has this task, which is polled first: the next run saves the picture; also for jobs that
    /// were resolved before
    #[arg(long, value_name = "ID")]
    task: Option<String>,
}

pub async fn resolve(context: &Context, options: Resolve) -> Result<(), Failure> {
    let ledger = options.ledger.open(context, Access::Manage).await?;
    let (name, outcome) = (options.name, options.outcome);
    let job = match outcome.task {
        Some(task) => {
            let (client, _simulator) = session::client(context).await?;
            Batch::open(client, ledger)?.resolve_with_task(&name, &task).await?
        }
        None if outcome.paid => ledger.resolve(&name, Resolution::Paid).await?,
        None => ledger.resolve(&name, Resolution::NotPaid).await?,
    };
    print_job(&context.output, &job)
}

/// Accept the pictures of another ledger, or a ledger that was moved
#[derive(Args)]
#[command(after_help = "Jobs become `saved` if the file next to a picture has their name and \
                        their request. The next run pays for the others. Sends nothing.")]
pub struct Adopt {
    /// The directory or the bucket with the pictures
    #[arg(long, short, value_name = "DIR-OR-URL", value_hint = ValueHint::DirPath)]
    #[arg(help_heading = "Output")]
    output: String,
    #[arg(long, value_name = "PLACE", value_hint = ValueHint::AnyPath)]
    #[arg(help = place::help(place::IN_OUTPUT), help_heading = "Ledger")]
    ledger: Option<String>,
}

pub async fn adopt(context: &Context, options: Adopt) -> Result<(), Failure> {
    let (ledger, output) = (options.ledger.as_deref(), &options.output);
    let place = place::given_or_in(ledger, output)?.ok_or_else(place::missing)?;
    let ledger = place.open(context.process(), Access::Run).await?;
    for job in ledger.adopt_output(output).await? {
        print_job(&context.output, &job)?;
    }
    Ok(())
}
