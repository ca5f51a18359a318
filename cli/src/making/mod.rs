//! From a request to a saved picture: the common part of the commands that make one.

pub mod checks;
mod describe;
pub mod finish;
pub mod plan;
pub mod preview;
mod series;
pub mod submission;

use clap::ArgMatches;
use serde_json::json;

use self::plan::{Planned, Variant, check_targets, kept, plan};
use crate::{
    context::Context, failure::Failure, output::task_json, process::interrupt::Interrupts,
    seeing::Seeing, service::session::Session,
};
use imagekiln::Request;

/// Submits, waits, and saves a picture for each variant and each seed. Without variants, the
/// request is complete.
pub async fn make(
    context: &Context,
    request: Request,
    variants: &[Variant],
    matches: &ArgMatches,
) -> Result<(), Failure> {
    let planned = plan(context, request, variants, matches)?;
    if preview::is_wanted(matches) {
        return preview::print(context, &planned);
    }
    // After the dry run, because it can create directories.
    check_targets(context, &planned)?;
    let seeing = Seeing::of(context, matches, planned.first().map(|first| &first.target));
    let seeing = seeing.map_err(Failure::before_payment)?;
    let history = context.history(kept(&planned, &context.process().directory))?;
    let session = Session::recorded(context, history).await?;
    let interrupts = Interrupts::listen(context.process())?;
    match <[Planned; 1]>::try_from(planned) {
        Ok([planned]) => {
            let seed = planned.seed();
            let made = finish::make(context, &session, (0, planned), &interrupts).await;
            let (task, saved) = made?;
            let about = json!({ "task": task_json(&task), "seed": seed });
            seeing.present(context, &saved, &task, about).await
        }
        Err(planned) => series::make_all(context, session, planned, &seeing, &interrupts).await,
    }
}
