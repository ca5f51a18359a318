//! From a task to a saved picture.

use crate::{
    context::Context,
    failure::Failure,
    interrupt::Interrupts,
    session::Session,
    target::{Saved, Target},
    wait::wait,
};
use imagekiln::{Picture, Task};

/// Waits for the picture of a submission of this command, and saves it.
pub async fn save(
    context: &Context,
    session: &Session,
    (index, task): (usize, &Task),
    target: &Target,
    interrupts: &Interrupts,
) -> Result<Saved, Failure> {
    let saved = finish(context, session, task, target, interrupts).await;
    saved.map_err(|failure| {
        context.with_resume_command(failure, Some(target), session.submission(index).as_ref())
    })
}

/// Waits for the picture, saves it, and records that in the history.
pub async fn finish(
    context: &Context,
    session: &Session,
    task: &Task,
    target: &Target,
    interrupts: &Interrupts,
) -> Result<Saved, Failure> {
    let picture = wait(context, task, interrupts).await?;
    let saved = receive(context, target, &picture, interrupts).await?;
    if let Some(history) = &session.history {
        history.saved(task.reference(), &saved).await;
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
        outcome = target.receive(picture, &context.process().stdout) => outcome?,
    };
    drop(spinner);
    for note in &saved.notes {
        context.output.warning(note);
    }
    Ok(saved)
}
