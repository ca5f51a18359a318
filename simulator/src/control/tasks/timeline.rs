//! The timeline of a task.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    state::AppState,
    tasks::{
        Task,
        timeline::{Happening, HappeningKind},
    },
    webhooks::WebhookAttempt,
};

/// What happened to the task until now, oldest first, with Unix times.
pub(super) fn of(state: &AppState, task: &Task, now: Duration) -> Vec<Value> {
    let once = |kind, at, detail: &str| Happening {
        kind,
        detail: detail.into(),
        count: 1,
        first: at,
        last: at,
    };
    let mut happenings = vec![once(HappeningKind::Accepted, task.accepted_at, "")];
    let outcome = task.outcome(now);
    let ended = outcome.map(|one| once(HappeningKind::Ended, task.final_at, one.status()));
    happenings.extend(ended);
    happenings.extend_from_slice(task.timeline.happenings());
    for delivery in state.webhooks.views_of(&task.id) {
        let detail = |outcome: &str| format!("to {}: {outcome}", delivery.url);
        if let Some(refusal) = delivery.refusal.as_ref().filter(|_| outcome.is_some()) {
            let refusal = detail(refusal);
            happenings.push(once(HappeningKind::WebhookFailed, task.final_at, &refusal));
        }
        happenings.extend(delivery.attempts.iter().map(|attempt| {
            let (kind, outcome) = attempted(attempt);
            once(kind, state.clock.unix_at(attempt.at), &detail(&outcome))
        }));
    }
    // What happened at the same moment stays in this order.
    happenings.sort_by_key(|happening| happening.first);
    let shown = |Happening { kind, detail, count, first, last }: Happening| {
        let (at, last_at) = (first.as_secs_f64(), last.as_secs_f64());
        json!({ "event": kind, "detail": detail, "count": count, "at": at, "last_at": last_at })
    };
    happenings.into_iter().map(shown).collect()
}

fn attempted(attempt: &WebhookAttempt) -> (HappeningKind, String) {
    let kind = match (attempt.status, &attempt.problem) {
        (Some(200..300), _) | (None, None) => HappeningKind::WebhookSent,
        _ => HappeningKind::WebhookFailed,
    };
    let status = attempt.status.map(|status| format!("status code {status}"));
    let outcome = status.or_else(|| attempt.problem.clone());
    (kind, outcome.unwrap_or_else(|| "in progress".to_owned()))
}
