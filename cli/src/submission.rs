//! Submits the request of a command and waits for the response, even after Ctrl-C.

use std::pin::pin;

use crate::{context::Context, failure::Failure, interrupt::Interrupts, session::Session};
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
                () = interrupts.second() => return Err(Failure::billing_unknown(
                    "interrupted",
                    "the submission was abandoned before its response arrived: it is unknown \
                     whether a task was created and charged",
                )),
            }
        }
    };
    let task = outcome?;
    drop(spinner);
    context.output.submitted(&task);
    Ok(task)
}

fn warn_of_deprecation(context: &Context, request: &Request) {
    let operation = request.operation();
    if operation.deprecated {
        context.output.warning(&format!("deprecated model {operation}: {}", operation.description));
    }
}
