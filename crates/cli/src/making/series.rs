//! Several pictures from one command, with a limit on how many tasks are active at once.

use std::{collections::BTreeMap, ops::Add as _, sync::Arc};

use serde_json::json;
use tokio::{task::JoinSet, time::Instant};

use super::{
    Submitted,
    costs::{Budget, Expected},
    make_one,
    plan::Planned,
};
use crate::{
    context::Context,
    failure::{Exit, Failure, Left, exit},
    output::task_json,
    process::Interrupts,
    seeing::{Cell, Seeing},
    service::Session,
};
use imagekiln::{ErrorKind, TaskRef};

/// The maximum number of pictures in progress, if the settings have none. It can be high, because
/// the client adapts to the number of tasks that the service allows.
const MAX_ACTIVE: u16 = 256;

/// Makes all planned pictures. Each one is printed when it is saved, and each failure is reported
/// when it happens.
pub async fn make_all(
    context: &Context,
    session: Session,
    (planned, mut budget): (Vec<(Planned, Option<Expected>)>, Budget),
    seeing: &Seeing,
    interrupts: &Interrupts,
) -> Result<(), Failure> {
    let limit = context.settings.max_active().unwrap_or(MAX_ACTIVE).into();
    let session = Arc::new(session);
    let facts = planned.iter().map(|(planned, _)| (planned.seed(), planned.label.clone()));
    let facts: Vec<(Option<i64>, Option<String>)> = facts.collect();
    let mut cells = BTreeMap::new();
    let mut tally = Tally { all: planned.len(), ..Tally::default() };
    let started = Instant::now();
    let mut waiting = planned.into_iter().enumerate().peekable();
    let mut active = JoinSet::new();
    let spinner = context.output.spin("");
    loop {
        let may_submit = || !tally.stops && !interrupts.happened() && !context.left().is_zero();
        let may_cost = |next: &(usize, (_, Option<Expected>))| budget.allows(next.1.1);
        let is_allowed = waiting.peek().is_some_and(may_cost);
        tally.is_over_budget = waiting.len() > 0 && !is_allowed;
        let has_next = is_allowed && active.len() < limit && may_submit();
        spinner.show(format!("{} of {} saved, {} active", tally.saved, tally.all, active.len()));
        let joined = tokio::select! {
            biased;
            Ok(slot) = session.client.slot(), if has_next => {
                let Some((index, (planned, expected))) = waiting.next() else { continue };
                budget.submitted(index, expected);
                let (context, session) = (context.without_spinner(), Arc::clone(&session));
                let interrupts = interrupts.clone();
                active.spawn(async move {
                    let next = (index, planned);
                    (index, make_one(&context, &session, next, Some(slot), &interrupts).await)
                });
                continue;
            }
            Some(joined) = active.join_next() => joined,
            else => break,
        };
        match joined {
            Ok((index, Ok((Submitted { task, is_new, .. }, saved)))) => {
                tally.saved += 1;
                tally.is_charged |= is_new;
                let cost = task.cost().filter(|_| is_new);
                budget.ended(index, cost, is_new);
                tally.credits = tally.credits.into_iter().chain(cost).reduce(f64::add);
                let (seed, label) = facts.get(index).cloned().unwrap_or_default();
                let about = json!({ "task": task_json(&task), "index": index + 1, "seed": seed });
                if let Some(path) = saved.path.clone().filter(|_| saved.kind.is_some()) {
                    let number =
                        session.submission(index).map(|entry| format!("@{}", entry.number));
                    let label = number.into_iter().chain(label).collect::<Vec<_>>().join(" ");
                    cells.insert(index, Cell { path, label });
                }
                let printed = seeing.present(context, &saved, &task, about).await;
                tally.unprinted = tally.unprinted.or(printed.err());
            }
            Ok((index, Err(failure))) => {
                let cost = failure.task.as_ref().and_then(TaskRef::cost);
                budget.ended(index, cost, failure.task.is_some() || failure.billing_unknown);
                // The outcome of the command reports an interruption once for all pictures.
                if context.output.json || !failure.is_harmless_interruption() {
                    let number = index + 1;
                    let name = format!("picture {number}");
                    context.output.not_saved(&name, ("index", number as u64), &failure);
                }
                tally.fail(&failure);
            }
            Err(error) => tally.fail(&Failure::other("could not make a picture", &error)),
        }
    }
    drop(spinner);
    seeing.present_all(&context.output, cells.into_values().collect()).await;
    context.output.totals((tally.saved, tally.all), tally.credits, started.elapsed());
    tally.outcome(waiting.len(), interrupts)
}

/// The outcomes of the pictures.
#[derive(Default)]
struct Tally {
    all: usize,
    saved: usize,
    /// The known costs of the tasks in credits.
    credits: Option<f64>,
    /// The failures of the pictures that were not saved.
    left: Left,
    /// The number of pictures that an interruption left out.
    left_out: usize,
    /// Whether submitting has stopped, because further pictures would fail for the same reason.
    stops: bool,
    /// Whether this command has submitted a task.
    is_charged: bool,
    /// Whether the budget does not allow the next picture.
    is_over_budget: bool,
    /// Why the path of a picture could not be printed.
    unprinted: Option<Failure>,
}

impl Tally {
    fn fail(&mut self, failure: &Failure) {
        self.is_charged |= failure.task.is_some();
        let cost = failure.task.as_ref().and_then(TaskRef::cost);
        self.credits = self.credits.into_iter().chain(cost).reduce(f64::add);
        self.left_out += usize::from(failure.is_harmless_interruption() && failure.task.is_none());
        self.left.add(failure);
        let is_about_it = failure.task.is_some() || failure.is(ErrorKind::Validation);
        // The last polls are sent before the deadline, when there is no time for another picture.
        self.stops |= !is_about_it || failure.exit == Exit::Continues;
    }

    /// Returns the outcome of the command. `unreached` is the number of pictures that were not
    /// submitted.
    fn outcome(self, unreached: usize, interrupts: &Interrupts) -> Result<(), Failure> {
        let Self { all, saved, left, left_out, unprinted, is_charged, is_over_budget, .. } = self;
        if saved == all {
            return unprinted.map_or(Ok(()), Err);
        }
        let interrupted = interrupts.happened().then_some(Exit::Interrupted);
        // The deadline may have passed before any submission.
        let unreached_exit = match (unreached, is_over_budget) {
            (0, _) => None,
            (_, true) => Some(Exit::Unpaid),
            (_, false) => Some(Exit::Network),
        };
        let exits = left.exits.iter().copied().chain(interrupted).chain(unreached_exit);
        let exit = exit::worst(exits, is_charged).unwrap_or_default();
        let why =
            if is_over_budget { ", because they would cost more than the budget" } else { "" };
        let message = format!("{} of {all} pictures were not saved{why}", all - saved);
        Err(left.failure("not_saved", exit, message, unreached + left_out))
    }
}
