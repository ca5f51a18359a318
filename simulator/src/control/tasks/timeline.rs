//! The timeline of a task.

use std::time::Duration;

use serde::Serialize;

use crate::{
    state::AppState,
    tasks::{Task, timeline::HappeningKind},
    webhooks::{WebhookAttempt, WebhookDelivery},
};

/// Something that happened to a task.
#[derive(Serialize)]
pub(super) struct TimelineEntry {
    event: Event,
    /// The status, the name of a fault, or the outcome of a webhook.
    detail: String,
    /// How often it happened.
    count: u64,
    /// When it happened first and last, as Unix time.
    at: f64,
    last_at: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Event {
    Accepted,
    Polled,
    /// A fault replaced the response to a poll.
    PollFailed,
    /// The task got its final status.
    Ended,
    Delivered,
    /// A fault replaced the delivery or broke it off.
    DeliveryFailed,
    WebhookSent,
    WebhookFailed,
}

/// What happened to the task until now, oldest first.
pub(super) fn of(state: &AppState, task: &Task, now: Duration) -> Vec<TimelineEntry> {
    let mut entries: Vec<(Duration, Duration, Event, String, u64)> =
        vec![(task.accepted_at, task.accepted_at, Event::Accepted, String::new(), 1)];
    if let Some(outcome) = task.outcome(now) {
        let status = outcome.status().to_owned();
        entries.push((task.final_at, task.final_at, Event::Ended, status, 1));
    }
    for happening in task.timeline.happenings() {
        let event = match happening.kind {
            HappeningKind::Polled => Event::Polled,
            HappeningKind::PollFailed => Event::PollFailed,
            HappeningKind::Delivered => Event::Delivered,
            HappeningKind::DeliveryFailed => Event::DeliveryFailed,
        };
        let detail = happening.detail.to_string();
        entries.push((happening.first, happening.last, event, detail, happening.count));
    }
    for delivery in state.webhooks.views_of(&task.id) {
        if let Some(refusal) = delivery.refusal.filter(|_| task.outcome(now).is_some()) {
            let detail = format!("to {}: {refusal}", delivery.url);
            entries.push((task.final_at, task.final_at, Event::WebhookFailed, detail, 1));
        }
        entries.extend(delivery.attempts.iter().map(|attempt| {
            let (event, outcome) = outcome(attempt);
            let at = state.clock.unix_at(attempt.at);
            (at, at, event, described(&delivery, outcome), 1)
        }));
    }
    // Events at the same moment stay in this order.
    entries.sort_by_key(|(at, ..)| *at);
    let entries = entries.into_iter();
    entries
        .map(|(first, last, event, detail, count)| TimelineEntry {
            event,
            detail,
            count,
            at: first.as_secs_f64(),
            last_at: last.as_secs_f64(),
        })
        .collect()
}

fn outcome(attempt: &WebhookAttempt) -> (Event, String) {
    match (attempt.status, &attempt.problem) {
        (Some(status @ 200..300), _) => (Event::WebhookSent, format!("status code {status}")),
        (Some(status), _) => (Event::WebhookFailed, format!("status code {status}")),
        (None, Some(problem)) => (Event::WebhookFailed, problem.clone()),
        (None, None) => (Event::WebhookSent, "in progress".to_owned()),
    }
}

fn described(delivery: &WebhookDelivery, outcome: String) -> String {
    format!("to {}: {outcome}", delivery.url)
}
