//! Submits the request of a command and waits for the response, even after Ctrl-C.

use std::pin::pin;

use crate::{
    context::Context,
    directory::STATE_DIR_VARIABLE,
    failure::{Failure, settle},
    interrupt::Interrupts,
    session::Session,
};
use imagekiln::{Billing, Error, Request, Task};

/// Submits a request and reports the task. The task is returned even if the user interrupted in the
/// meantime; the caller checks [`Interrupts::happened`]. `index` is that of the planned picture.
pub async fn submit(
    context: &Context,
    session: &Session,
    (index, request): (usize, Request),
    interrupts: &Interrupts,
) -> Result<Task, Failure> {
    let spinner = context.output.spin(format!("submitting to {}", request.operation()));
    let mut posting = pin!(session.client.submit_for(request, index.to_string()));
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
    let task = outcome.map_err(|error| match interrupts.happened() && was_refused(&error) {
        true => Failure::not_submitted(),
        false => context.with_resume_command(explained(error.into(), session, index), None, None),
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
    let Some(recorder) = session.recorder() else { return failure };
    if failure.kind == "journal" && failure.task.is_none() {
        let directory = recorder.directory().display();
        failure.message = format!("could not record the submission in {directory}");
        return failure.advise(format!(
            "nothing was sent; set {STATE_DIR_VARIABLE} to another directory, or pass --no-history"
        ));
    }
    match session.take_record(index).filter(|_| failure.billing_unknown) {
        Some(record) => {
            failure.number = Some(record.number);
            let advice = failure.advice.take().map(|advice| advice + "; ").unwrap_or_default();
            let id = failure.task.as_ref().map(|task| task.id().to_owned());
            failure.advise(advice + &settle(&[format!("@{}", record.number)], id.as_deref()))
        }
        None => failure,
    }
}
