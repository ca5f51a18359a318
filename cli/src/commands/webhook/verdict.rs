//! The verdict on a webhook: what a verified one claims about its task, which only a poll can
//! confirm, or why it was rejected, with advice on what to check.

use serde_json::{Value, json};

use crate::{failure::Failure, text::sanitize::one_line};
use imagekiln::{
    TaskStatus,
    webhook::{Event, Rejection},
};

/// One line for people.
pub fn to_people(event: &Event) -> String {
    let task = event.task_id();
    let task = task.map_or("no task id found".to_owned(), |id| format!("task {}", one_line(id)));
    let status = event.claimed_status();
    let status = status.map_or("no status".to_owned(), |status| format!("claims {status}"));
    let message = event.message_id();
    let message = message.map_or(String::new(), |id| format!(", message {}", one_line(id)));
    format!("{task}, {status}{message}")
}

/// A JSON object for programs.
pub fn to_programs(event: &Event) -> Value {
    json!({
        "task_id": event.task_id(),
        "claimed_status": event.claimed_status().map(TaskStatus::as_str),
        "message_id": event.message_id(),
        // JSON that is nested too deeply to parse is shown as text.
        "body": event.json().unwrap_or_else(|_| Value::from(String::from_utf8_lossy(event.body()))),
    })
}

/// The code of the reason.
pub fn reason(rejection: &Rejection) -> &'static str {
    match rejection {
        Rejection::Missing { .. } => "missing",
        Rejection::Malformed { .. } => "malformed",
        Rejection::Wrong { .. } => "wrong",
        Rejection::TooOld { .. } => "too_old",
        Rejection::FromFuture { .. } => "from_future",
        Rejection::TooLarge { .. } => "too_large",
        Rejection::NotJson => "not_json",
        _ => "other",
    }
}

/// The failure of a command that verifies one webhook.
pub fn failure(rejection: &Rejection) -> Failure {
    let failure =
        Failure::webhook(reason(rejection), format!("the webhook was rejected: {rejection}"));
    match advice(rejection) {
        Some(advice) => failure.advise(advice),
        None => failure,
    }
}

fn advice(rejection: &Rejection) -> Option<&'static str> {
    Some(match rejection {
        Rejection::Missing { .. } => {
            "check --scheme, --signature-header and each --header; `kiln webhook listen` without a \
             secret prints the headers that the service sends"
        }
        Rejection::Malformed { .. } => "check --scheme, --prefix and --encoding, and each --header",
        Rejection::Wrong { .. } => {
            "check the secret, and that the body is exactly what was received"
        }
        Rejection::TooOld { .. } => "pass a longer --max-age if the delivery is a recorded one",
        Rejection::FromFuture { .. } => "check this machine's clock, or pass a longer --max-age",
        Rejection::TooLarge { .. } => "check that the file contains the body of one webhook",
        Rejection::NotJson => {
            "check that the file contains the body of a webhook; its signature is valid"
        }
        _ => return None,
    })
}
