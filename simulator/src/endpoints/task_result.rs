//! The result of a task, which polls and webhooks share, with its delivery URL.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    state::AppState,
    tasks::{Task, outcome::Outcome},
};

/// What a poll of the task returns now, with a delivery URL at `base`.
pub(crate) fn of(state: &AppState, task: &Task, now: Duration, base: &str) -> Value {
    let (id, status) = (&task.id, task.status(now, &state.config.in_progress));
    match task.outcome(now) {
        Some(Outcome::Ready) => {
            let sample = delivery_url(state, task, base);
            json!({ "id": id, "status": status, "result": { "sample": sample } })
        }
        _ => json!({ "id": id, "status": status }),
    }
}

/// The signed URL of a task's picture. It is the same for every poll: it expires a fixed time after
/// the task became ready, rounded up to the second.
fn delivery_url(state: &AppState, task: &Task, base: &str) -> String {
    let until = task.final_at.saturating_add(state.config.delivery_lifetime);
    let expires = (until.as_secs() + u64::from(until.subsec_nanos() > 0)).to_string();
    let file = format!("{}.{}", task.id, task.picture.format.extension());
    let signature = state.signer.sign(&file, &expires);
    format!("{base}/delivery/{file}?expires={expires}&signature={signature}")
}
