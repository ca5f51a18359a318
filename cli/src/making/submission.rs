//! Submits the request of a command and waits for the response, even after Ctrl-C.

use std::pin::pin;

use crate::{
    context::Context,
    failure::{Failure, settle},
    files::{directory::STATE_DIR_VARIABLE, target::Target},
    process::interrupt::Interrupts,
    service::session::Session,
    text::sanitize::one_line,
};
use imagekiln::{Billing, Error, ErrorKind, Request, Task};

/// Submits a request and reports the task. The task is returned even if the user interrupted in the
/// meantime; the caller checks [`Interrupts::happened`]. `index` is that of the planned picture,
/// and `target` is for the command that saves it after a failure.
pub async fn submit(
    context: &Context,
    session: &Session,
    (index, request): (usize, Request),
    target: &Target,
    interrupts: &Interrupts,
) -> Result<Task, Failure> {
    let spinner = context.output.spin(format!("submitting to {}", request.model_name()));
    let mut posting = pin!(session.submit(index, request, context.left()));
    let outcome = tokio::select! {
        outcome = &mut posting => outcome,
        () = interrupts.first() => {
            if interrupts.is_first_report() {
                context.output.finishing();
            }
            session.client.stop_retrying_submissions();
            tokio::select! {
                outcome = &mut posting => outcome,
                () = interrupts.second() => return Err(abandoned(session, index)),
            }
        }
    };
    let task = outcome.map_err(|error| {
        if interrupts.happened() && was_refused(&error) {
            Failure::not_submitted()
        } else {
            let failure = explained(error.into(), session, index);
            context.with_resume_command(failure, Some(target), None)
        }
    })?;
    drop(spinner);
    context.output.submitted(&task);
    Ok(task)
}

/// Whether the client would have retried the submission.
fn was_refused(error: &Error) -> bool {
    error.billing() == Billing::NotBilled && error.is_transient()
}

fn abandoned(session: &Session, index: usize) -> Failure {
    let message = "the submission was abandoned before its response arrived: it is unknown whether \
                   a task was created and charged";
    explained(Failure::billing_unknown("interrupted", message), session, index)
}

/// Adds what the history has to do with the failure.
fn explained(mut failure: Failure, session: &Session, index: usize) -> Failure {
    let Some(history) = &session.history else { return failure };
    if failure.kind == ErrorKind::Journal {
        let directory = history.path().display();
        if let Some(task) = failure.task.take() {
            let id = one_line(task.id());
            failure.message = format!("task {id} is paid for, but not recorded in {directory}");
            // The command that saves its picture can record it then.
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
