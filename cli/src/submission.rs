//! The one POST of a command, run to its end whatever the user presses.

use std::pin::pin;

use imagekiln::{Request, Task};

use crate::{context::Context, failure::Failure, interrupt::Interrupts, session::Session};

/// Submits a request, and tells the task. Where the user interrupted in the meantime, the task is
/// known all the same: the caller asks [`Interrupts::happened`].
pub async fn submit(
    context: &Context,
    session: &Session,
    request: Request,
    interrupts: &Interrupts,
) -> Result<Task, Failure> {
    warn_of_deprecation(context, &request);
    let mut spinner = Some(context.voice.spin(format!("submitting to {}", request.operation())));
    let mut posting = pin!(session.client.submit(request));
    let outcome = tokio::select! {
        outcome = &mut posting => outcome,
        () = interrupts.first() => {
            spinner = None;
            context.voice.finishing();
            tokio::select! {
                outcome = &mut posting => outcome,
                () = interrupts.second() => return Err(Failure::billing_unknown(
                    "interrupted",
                    "the submission was given up before its answer came: it is not known whether a task was created and paid",
                )),
            }
        }
    };
    let task = outcome?;
    drop(spinner);
    context.voice.submitted(&task);
    Ok(task)
}

fn warn_of_deprecation(context: &Context, request: &Request) {
    let operation = request.operation();
    if operation.deprecated {
        context.voice.warning(&format!("deprecated model {operation}: {}", operation.description));
    }
}
