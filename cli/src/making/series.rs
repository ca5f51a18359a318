//! Several pictures from one command, with a limit on how many tasks are active at once.

use std::{ops::Add as _, sync::Arc};

use serde_json::json;
use tokio::{task::JoinSet, time::Instant};

use super::{finish::save, plan::Planned, submission::submit};
use crate::{
    context::Context,
    failure::{Failure, Left, exit::Exit},
    files::target::Saved,
    output::task_json,
    process::interrupt::Interrupts,
    seeing::Seeing,
    service::session::Session,
};
use imagekiln::{ErrorKind, Task, TaskRef};

/// The number of active tasks that the service accepts, for settings without one.
const MAX_ACTIVE: u16 = 24;

/// Makes all planned pictures. Each one is printed when it is saved, and each failure is reported
/// when it happens.
pub async fn make_all(
    context: &Context,
    session: Session,
    planned: Vec<Planned>,
    seeing: &Seeing,
    interrupts: &Interrupts,
) -> Result<(), Failure> {
    let limit = context.settings.max_active().unwrap_or(MAX_ACTIVE).into();
    let session = Arc::new(session);
    let seeds: Vec<Option<i64>> = planned.iter().map(Planned::seed).collect();
    let mut tally = Tally { all: planned.len(), ..Tally::default() };
    let started = Instant::now();
    let mut waiting = planned.into_iter().enumerate();
    let mut active = JoinSet::new();
    let spinner = context.output.spin("");
    loop {
        let may_submit = || !tally.stops && !interrupts.happened() && !context.left().is_zero();
        while active.len() < limit
            && may_submit()
            && let Some(next) = waiting.next()
        {
            let context = context.without_spinner();
            active.spawn(picture(context, Arc::clone(&session), next, interrupts.clone()));
        }
        spinner.show(format!("{} of {} saved, {} active", tally.saved, tally.all, active.len()));
        let Some(joined) = active.join_next().await else { break };
        match joined {
            Ok((index, Ok((task, saved)))) => {
                tally.saved += 1;
                tally.credits = tally.credits.into_iter().chain(task.cost()).reduce(f64::add);
                let seed = seeds.get(index).copied().flatten();
                let about = json!({ "task": task_json(&task), "index": index + 1, "seed": seed });
                let printed = seeing.present(context, &saved, &task, about).await;
                tally.unprinted = tally.unprinted.or(printed.err());
            }
            Ok((index, Err(failure))) => {
                // The outcome of the command reports this for all of them.
                if context.output.json || !failure.is_harmless_interruption() {
                    context.output.not_made(index + 1, &failure);
                }
                tally.fail(&failure);
            }
            Err(error) => tally.fail(&Failure::other("could not make a picture", &error)),
        }
    }
    drop(spinner);
    context.output.totals((tally.saved, tally.all), tally.credits, started.elapsed());
    tally.outcome(waiting.len(), interrupts)
}

/// Returns the index of the picture and its outcome.
async fn picture(
    context: Context,
    session: Arc<Session>,
    (index, planned): (usize, Planned),
    interrupts: Interrupts,
) -> (usize, Result<(Task, Saved), Failure>) {
    let outcome = async {
        let submission = (index, planned.request);
        let task = submit(&context, &session, submission, &interrupts).await;
        let task = task
            .map_err(|failure| context.with_resume_command(failure, Some(&planned.target), None))?;
        let saved = save(&context, &session, (index, &task), &planned.target, &interrupts).await?;
        Ok((task, saved))
    };
    (index, outcome.await)
}

/// The outcomes of the pictures.
#[derive(Default)]
struct Tally {
    all: usize,
    saved: usize,
    /// What the tasks cost, as far as it is known.
    credits: Option<f64>,
    /// The exit codes of the pictures that were not saved.
    exits: Vec<Exit>,
    /// What is left to do for the pictures that were not saved.
    left: Left,
    /// The number of pictures that an interruption left out.
    left_out: usize,
    /// Whether submitting has stopped, because further pictures would fail for the same reason.
    stops: bool,
    /// Why the path of a picture could not be printed.
    unprinted: Option<Failure>,
}

impl Tally {
    fn fail(&mut self, failure: &Failure) {
        self.exits.push(failure.exit);
        let cost = failure.task.as_ref().and_then(TaskRef::cost);
        self.credits = self.credits.into_iter().chain(cost).reduce(f64::add);
        self.left_out += usize::from(failure.is_harmless_interruption() && failure.task.is_none());
        self.left.add(failure);
        let is_about_it = failure.task.is_some() || failure.kind == ErrorKind::Validation.as_str();
        // The last polls are sent before the deadline, when there is no time for another picture.
        self.stops |= !is_about_it || failure.exit == Exit::Continues;
    }

    /// The outcome of the command. `unreached` pictures were not submitted.
    fn outcome(self, unreached: usize, interrupts: &Interrupts) -> Result<(), Failure> {
        let Self { all, saved, exits, left, left_out, unprinted, .. } = self;
        if saved == all {
            return unprinted.map_or(Ok(()), Err);
        }
        let has = |exit| exits.contains(&exit);
        let exit = match exits.first() {
            _ if has(Exit::BillingUnknown) => Exit::BillingUnknown,
            _ if interrupts.happened() => Exit::Interrupted,
            _ if has(Exit::Continues) => Exit::Continues,
            // The same command would make the other pictures again.
            Some(Exit::Network) | None if saved > 0 => Exit::Other,
            Some(exit) => *exit,
            None => Exit::Network,
        };
        let mut advice = left.advice();
        match unreached + left_out {
            0 => {}
            1 => advice.push("1 was not submitted and cost nothing".to_owned()),
            count => advice.push(format!("{count} were not submitted and cost nothing")),
        }
        let failure =
            Failure::not_saved(exit, format!("{} of {all} pictures were not saved", all - saved));
        Err(if advice.is_empty() { failure } else { failure.advise(advice.join("; ")) })
    }
}
