//! Turns requests into saved pictures: the common part of all commands that make pictures.

pub mod checks;
pub mod costs;
mod describe;
pub mod dry_run;
pub mod identical;
pub mod keyed;
pub mod plan;
mod series;
pub mod upright;
pub mod variants;

use std::{
    future::poll_fn,
    path::PathBuf,
    pin::{Pin, pin},
};

use clap::ArgMatches;
use futures_core::Stream;
use serde_json::{Value, json};

pub use self::variants::{Pictures, Variant};
use self::{
    costs::{Budget, Expected},
    describe::describe,
    plan::{Planned, check_targets, kept, plan},
};
use crate::{
    context::Context,
    failure::{Failure, settle},
    files::{
        directory::STATE_DIR_VARIABLE,
        target::{self, Saved, Target},
    },
    history::{find, relative, request},
    output::task_json,
    process::Interrupts,
    seeing::{self, Seeing},
    service::Session,
    text::one_line,
};
use imagekiln::{
    Asked, Billing, Error, ErrorKind, Once, Picture, Slot, Task, WaitEnd, journal::Step,
};

/// The number of characters of an id in the progress line. The whole id was printed before.
const SHOWN: usize = 8;

/// Submits, waits, and saves each picture that a command asks for.
pub async fn make(
    context: &Context,
    pictures: impl Into<Pictures>,
    matches: &ArgMatches,
) -> Result<(), Failure> {
    let Some(mut planned) = checked(context, pictures.into(), matches)? else { return Ok(()) };
    let seeing = Seeing::of(context, matches, planned.first().map(|first| &first.target));
    let seeing = seeing.map_err(Failure::before_payment)?;
    let session = open(context, &planned).await?;
    identical::check(context, &session.client, &planned, matches)?;
    let interrupts = Interrupts::listen(context.process())?;
    let expected = costs::expected(context, &planned);
    costs::check(context, &expected, matches, &interrupts).await?;
    for (planned, expected) in planned.iter_mut().zip(&expected) {
        planned.price = expected.map(Expected::for_progress);
    }
    match <[Planned; 1]>::try_from(planned) {
        Ok([planned]) => {
            let seed = planned.seed();
            let (Submitted { task, .. }, saved) =
                make_one(context, &session, (0, planned), None, &interrupts).await?;
            let about = json!({ "task": task_json(&task), "seed": seed });
            seeing.present(context, &saved, &task, about).await
        }
        Err(planned) => {
            let planned = planned.into_iter().zip(expected).collect();
            let (budget, seeing) = (Budget::of(matches)?, seeing.together(context));
            series::make_all(context, session, (planned, budget), &seeing, &interrupts).await
        }
    }
}

/// Plans the pictures of a command, and checks that they can be saved. For `--dry-run`, prints the
/// requests and returns `None`.
pub fn checked(
    context: &Context,
    pictures: Pictures,
    matches: &ArgMatches,
) -> Result<Option<Vec<Planned>>, Failure> {
    let planned = plan(context, pictures, matches)?;
    if matches.get_flag("dry_run") {
        let paid = identical::of_dry_run(context, &planned)?;
        return dry_run::print(context, &planned, &paid).map(|()| None);
    }
    // Not for a dry run, because the check can create directories.
    check_targets(context, &planned)?;
    Ok(Some(planned))
}

/// Opens the history for these pictures, and the client that submits them. Sends nothing.
pub async fn open(context: &Context, planned: &[Planned]) -> Result<Session, Failure> {
    let history = context.history(kept(context, planned))?;
    Session::recorded(context, history).await
}

/// Makes a picture of this command: submits its request, waits for the picture, and saves it.
async fn make_one(
    context: &Context,
    session: &Session,
    (index, planned): (usize, Planned),
    slot: Option<Slot>,
    interrupts: &Interrupts,
) -> Result<(Submitted, Saved), Failure> {
    let Planned { target, kept, key, .. } = &planned;
    let submitted = submit(context, session, (index, &planned, slot), interrupts).await?;
    let Submitted { task, is_new, saved } = &submitted;
    if let Some(path) = saved {
        let saved = target::found(relative(path, &context.process().directory))?;
        return Ok((submitted, saved));
    }
    match finish(context, session, (task, kept.as_ref()), target, interrupts).await {
        Ok(saved) => Ok((submitted, saved)),
        Err(failure) => {
            let entry = if *is_new {
                session.submission(index)
            } else {
                find::by_task(context.process(), task.reference())?
            };
            let failure = context.with_resume_command(failure, Some(target), entry.as_ref());
            Err(match key {
                Some(key) => keyed::explained(context, session, (key, *is_new), failure),
                None => failure,
            })
        }
    }
}

/// The task of a picture that was submitted, by this command or by an earlier one.
pub struct Submitted {
    pub task: Task,
    /// Whether this command submitted the task. If not, an earlier command with the same key did.
    pub is_new: bool,
    /// The path where an earlier command has saved the picture.
    saved: Option<PathBuf>,
}

/// Submits the request of a planned picture and reports the task. The task is returned even if the
/// user interrupted in the meantime; the caller checks [`Interrupts::happened`].
pub async fn submit(
    context: &Context,
    session: &Session,
    (index, planned, slot): (usize, &Planned, Option<Slot>),
    interrupts: &Interrupts,
) -> Result<Submitted, Failure> {
    let Planned { request, target, price, key, .. } = planned;
    let price = price.as_deref().unwrap_or_default();
    let spinner = context.output.spin(format!("submitting to {}{price}", request.model_name()));
    let request = (request.clone(), key.clone());
    let mut posting = pin!(session.submit(index, request, context.left(), slot));
    let outcome = tokio::select! {
        outcome = &mut posting => outcome,
        () = interrupts.first() => {
            if interrupts.is_first_report() {
                let text = "finishing the submission so that no paid task is lost; press Ctrl-C \
                            again to abandon it";
                context.output.message("finishing", text);
            }
            session.client.stop_retrying_submissions();
            tokio::select! {
                outcome = &mut posting => outcome,
                () = interrupts.second() => {
                    let message = "the submission was abandoned before its response arrived: it is \
                                   unknown whether a task was created and charged";
                    let failure = Failure::billing_unknown("interrupted", message);
                    return Err(explained(failure, session, index));
                }
            }
        }
    };
    let once = outcome.map_err(|error| {
        // The client would have retried the submission.
        let is_refused = error.billing() == Billing::NotBilled && error.is_transient();
        if interrupts.happened() && is_refused {
            return Failure::not_submitted();
        }
        let failure = match key {
            // Without the advice to use another directory, because a history there would not
            // contain the key, and the picture could be paid for twice.
            Some(_) if error.kind() == ErrorKind::Journal && error.task().is_none() => error.into(),
            Some(key) => {
                let failure = keyed::explained(context, session, (key, false), error.into());
                explained(failure, session, index)
            }
            None => explained(error.into(), session, index),
        };
        context.with_resume_command(failure, Some(target), None)
    })?;
    drop(spinner);
    let (task, saved) = match once {
        Once::Task(task) => (task, None),
        Once::Saved { path, task } => (task, Some(path)),
    };
    let is_keyed = key.is_some() && session.history.is_some();
    let is_new = !is_keyed || session.submission(index).is_some();
    if is_new {
        context.output.submitted(&task);
    } else {
        keyed::continue_earlier(context, session, &task).await?;
    }
    Ok(Submitted { task, is_new, saved })
}

/// Adds to a failure what the history knows about the submission, and what the user can do.
fn explained(mut failure: Failure, session: &Session, index: usize) -> Failure {
    let Some(history) = &session.history else { return failure };
    if failure.is(ErrorKind::Journal) {
        let directory = history.path().display();
        if let Some(task) = failure.task.take() {
            let id = one_line(task.id());
            failure.message = format!("task {id} is paid for, but not recorded in {directory}");
            // With its submission, the task can be recorded by the command that saves the picture.
            failure.task = Some(match history.submission(index) {
                Some(entry) => task.of_submission(entry.submission()),
                None => task,
            });
            return failure.advise("the task continues; its picture can still be saved");
        }
        failure.message = format!("could not record the submission in {directory}");
        return failure.advise(format!(
            "nothing was sent; set {STATE_DIR_VARIABLE} to another directory, or pass --no-history"
        ));
    }
    match history.submission(index).filter(|_| failure.billing_unknown) {
        Some(entry) => {
            failure.number = Some(entry.number);
            let advice = failure.advice.take().map(|advice| advice + "; ").unwrap_or_default();
            let id = failure.task.as_ref().map(|task| task.id().to_owned());
            failure.advise(advice + &settle(&[format!("@{}", entry.number)], id.as_deref()))
        }
        None => failure,
    }
}

/// Waits for the picture, saves it, records that in the history, and describes the picture if its
/// target says so. `request` is the kept form of the request.
pub async fn finish(
    context: &Context,
    session: &Session,
    (task, request): (&Task, Option<&Value>),
    target: &Target,
    interrupts: &Interrupts,
) -> Result<Saved, Failure> {
    let picture = wait(context, task, interrupts).await?;
    let received = receive(context, target, &picture, interrupts).await;
    if let Some(history) = &session.history {
        match &received {
            Ok(saved) => history.saved(task.reference(), saved).await,
            Err(failure) => {
                if let Some(path) = &failure.kept {
                    let path = context.process().directory.join(path);
                    history.ended(task.reference(), Step::Damaged { path }).await;
                }
            }
        }
    }
    let mut saved = received?;
    saved.difference = request.and_then(|request| asked(request, &saved));
    if let Some(difference) = &saved.difference {
        context.output.warning(&format!("the picture is {difference}"));
    }
    if target.describe {
        describe(&context.output, request, (&picture, task.cost()), &saved);
    }
    Ok(saved)
}

/// Returns how a saved picture differs from what its request asked for.
fn asked(request: &Value, saved: &Saved) -> Option<String> {
    let field = |name| request::field(request, name);
    let asked = Asked {
        width: field("width").and_then(Value::as_i64),
        height: field("height").and_then(Value::as_i64),
        output_format: field("output_format").and_then(Value::as_str),
    };
    asked.difference(saved.kind, seeing::pixels(saved))
}

/// Downloads the picture to its target, unless the user interrupts.
async fn receive(
    context: &Context,
    target: &Target,
    picture: &Picture,
    interrupts: &Interrupts,
) -> Result<Saved, Failure> {
    let spinner = context.output.spin("saving the picture");
    let saved = tokio::select! {
        biased;
        () = interrupts.first() => return Err(Failure::interrupted(picture.task())),
        () = context.deadline_passed() => {
            return Err(context.late(picture.task(), "the picture was not saved", None));
        }
        outcome = target.receive(picture, &context.process().stdout) => outcome?,
    };
    drop(spinner);
    for note in &saved.notes {
        context.output.warning(note);
    }
    Ok(saved)
}

/// Waits for the picture and shows the status meanwhile.
pub async fn wait(
    context: &Context,
    task: &Task,
    interrupts: &Interrupts,
) -> Result<Picture, Failure> {
    tokio::select! {
        biased;
        () = interrupts.first() => Err(Failure::interrupted(task.reference())),
        outcome = follow(context, task) => outcome.map_err(|error| match error.wait_end() {
            Some(WaitEnd::DeadlineExceeded { last_status, .. }) => {
                let state = last_status.as_ref().map_or("no poll succeeded".to_owned(), |status| {
                    format!("the task is still `{}`", one_line(status.as_str()))
                });
                context.late(task.reference(), &state, Some(&error))
            }
            _ => error.into(),
        }),
    }
}

async fn follow(context: &Context, task: &Task) -> Result<Picture, Error> {
    let id: String = one_line(task.id()).chars().take(SHOWN).collect();
    let spinner = context.output.spin(format!("task {id}"));
    let mut updates = task.updates(context.wait_options());
    loop {
        let next = poll_fn(|cx| Pin::new(&mut updates).poll_next(cx)).await;
        let Some(update) = next.transpose()? else {
            // The updates end with a final one or with an error, so this line is only a fallback.
            return task.wait_with(context.wait_options()).await;
        };
        if update.status().is_final() {
            return update.into_picture(task.reference());
        }
        let status = one_line(update.status().as_str());
        spinner.show(format!("task {id}: {status}"));
    }
}
