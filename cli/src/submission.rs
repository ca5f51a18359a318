//! Submits the request of a command and waits for the response, even after Ctrl-C.

use std::pin::pin;

use crate::{
    context::Context, directory::STATE_DIR_VARIABLE, failure::Failure, interrupt::Interrupts,
    session::Session,
};
use imagekiln::{Request, Task};

/// Submits a request and reports the task. The task is returned even if the user interrupted in the
/// meantime; the caller checks [`Interrupts::happened`].
pub async fn submit(
    context: &Context,
    session: &Session,
    request: Request,
    interrupts: &Interrupts,
) -> Result<Task, Failure> {
    warn_of_deprecation(context, &request);
    let mut spinner = Some(context.output.spin(format!("submitting to {}", request.operation())));
    let mut posting = pin!(session.client.submit(request));
    let outcome = tokio::select! {
        outcome = &mut posting => outcome,
        () = interrupts.first() => {
            spinner = None;
            context.output.finishing();
            tokio::select! {
                outcome = &mut posting => outcome,
                () = interrupts.second() => return Err(abandoned(session)),
            }
        }
    };
    let task = outcome.map_err(|error| explained(error.into(), session))?;
    drop(spinner);
    context.output.submitted(&task);
    Ok(task)
}

fn abandoned(session: &Session) -> Failure {
    let message = "the submission was abandoned before its response arrived: it is unknown whether \
                   a task was created and charged";
    explained(Failure::billing_unknown("interrupted", message), session)
}

/// Adds what the history has to do with the failure.
fn explained(mut failure: Failure, session: &Session) -> Failure {
    let Some(recorder) = session.recorder() else { return failure };
    if failure.kind == "journal" {
        let directory = recorder.directory().display();
        failure.message = format!("could not record the submission in {directory}");
        return failure.advise(format!(
            "nothing was sent; set {STATE_DIR_VARIABLE} to another directory, or pass --no-history"
        ));
    }
    match session.take_record().filter(|_| failure.billing_unknown) {
        Some(record) => {
            let advice = failure.advice.take().map(|advice| advice + "; ").unwrap_or_default();
            let number = record.number;
            failure.advise(format!("{advice}`kiln history` lists the submission as @{number}"))
        }
        None => failure,
    }
}

fn warn_of_deprecation(context: &Context, request: &Request) {
    let operation = request.operation();
    if operation.deprecated {
        context.output.warning(&format!("deprecated model {operation}: {}", operation.description));
    }
}
