//! From a task to its picture.

use std::{future::poll_fn, pin::Pin};

use futures_core::Stream;

use crate::{context::Context, failure::Failure, interrupt::Interrupts, sanitize::one_line};
use imagekiln::{Picture, Task};

/// The number of characters of an id in the progress line. The whole id was printed before.
const SHOWN: usize = 8;

/// Waits for the picture and shows the status meanwhile.
pub async fn wait(
    context: &Context,
    task: &Task,
    interrupts: &Interrupts,
) -> Result<Picture, Failure> {
    tokio::select! {
        biased;
        () = interrupts.first() => Err(Failure::interrupted(task.reference())),
        outcome = follow(context, task) => outcome,
    }
}

async fn follow(context: &Context, task: &Task) -> Result<Picture, Failure> {
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
    Ok(task.wait_with(context.wait_options()).await?)
}
