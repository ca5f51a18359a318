//! From a request to a saved picture.

use std::{future::poll_fn, pin::Pin};

use futures_core::Stream;
use serde_json::Value;

use super::{describe::describe, plan::Planned, submission::submit};
use crate::{
    context::Context,
    failure::Failure,
    files::target::{Saved, Target},
    process::interrupt::Interrupts,
    service::session::Session,
    text::sanitize::one_line,
};
use imagekiln::{Error, Picture, Task, WaitEnd};

/// The number of characters of an id in the progress line. The whole id was printed before.
const SHOWN: usize = 8;

/// Makes a picture of this command: submits its request, waits for the picture, and saves it.
pub async fn make(
    context: &Context,
    session: &Session,
    (index, Planned { request, target, kept, .. }): (usize, Planned),
    interrupts: &Interrupts,
) -> Result<(Task, Saved), Failure> {
    let task = submit(context, session, (index, request), &target, interrupts).await?;
    match finish(context, session, (&task, kept.as_ref()), &target, interrupts).await {
        Ok(saved) => Ok((task, saved)),
        Err(failure) => {
            let entry = session.submission(index);
            Err(context.with_resume_command(failure, Some(&target), entry.as_ref()))
        }
    }
}

/// Waits for the picture, saves it, records that in the history, and describes the picture if its
/// target says so. `request` is what is kept of its request.
pub async fn finish(
    context: &Context,
    session: &Session,
    (task, request): (&Task, Option<&Value>),
    target: &Target,
    interrupts: &Interrupts,
) -> Result<Saved, Failure> {
    let picture = wait(context, task, interrupts).await?;
    let saved = receive(context, target, &picture, interrupts).await?;
    if let Some(history) = &session.history {
        history.saved(task.reference(), &saved).await;
    }
    if target.describe {
        describe(&context.output, request, (&picture, task.cost()), &saved);
    }
    Ok(saved)
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
    while let Some(update) = poll_fn(|cx| Pin::new(&mut updates).poll_next(cx)).await {
        let update = update?;
        if let Some(picture) = update.picture() {
            return Ok(picture.clone());
        }
        let status = one_line(update.status().as_str());
        spinner.show(format!("task {id}: {status}"));
        if update.status().is_failure() {
            break;
        }
    }
    // The updates do not turn a failure status into an error; `wait_with` does, with its advice.
    task.wait_with(context.wait_options()).await
}
