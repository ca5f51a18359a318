//! Server-sent events. They tell the page which of its parts have changed, but not what has
//! changed.

use std::{collections::BTreeMap, convert::Infallible, time::Duration};

use axum::{
    extract::State,
    response::sse::{Event, KeepAlive, Sse},
};
use futures_util::{Stream, stream::unfold};
use serde_json::{Value, json};

use super::Shared;
use crate::{billing::accounts::Actor, state::AppState};

/// How often to compare the state with the previous one. There is no event to wait for, because the
/// status of a task changes by the passage of time alone.
const PERIOD: Duration = Duration::from_millis(250);

/// The parts of the page, each with numbers that differ if the part has changed. A reset changes
/// the numbers of all parts.
fn observe(state: &AppState) -> [(&'static str, Value); 6] {
    let now = state.clock.unix_now();
    let mut records = state.records();
    records.tasks.settle(now);
    // A task never returns to an earlier status, so if the number of tasks with each status is the
    // same, no task has changed.
    let mut unfinished: BTreeMap<&str, usize> = BTreeMap::new();
    for task in records.tasks.unfinished() {
        *unfinished.entry(task.status(now, &state.config.in_progress)).or_default() += 1;
    }
    let tasks = json!([records.tasks.accepted(), records.tasks.ended(), unfinished]);
    let fetched = records.lateness.fetched.count();
    let accounts = &records.accounts;
    let ledger = accounts.ledger(&Actor::Operator, 1).first().map(|entry| entry.number);
    let audit = accounts.audit_log(&Actor::Operator, 1).first().map(|entry| entry.number);
    let rules = state.faults.rules().into_iter().map(|rule| (rule.id, rule.applied));
    let parts = [
        ("tasks", tasks.clone()),
        ("counts", json!([tasks, records.polls, fetched, records.delivered, records.refused])),
        ("requests", json!(state.journal.written())),
        // When a task that trains a finetune ends, the finetune becomes usable.
        ("accounts", json!([ledger, audit, accounts.usable_finetunes(now)])),
        ("faults", json!(rules.collect::<Vec<_>>())),
        ("clock", json!(state.clock.speed())),
    ];
    parts.map(|(part, numbers)| (part, json!([records.resets, numbers])))
}

type Events = Result<Event, Infallible>;

pub(super) async fn stream(State(state): Shared) -> Sse<impl Stream<Item = Events>> {
    let (first, webhooks) = (observe(&state), state.webhooks.changes());
    let changes = unfold((state, first, webhooks), |(state, seen, mut webhooks)| async move {
        let mut stopped = state.stopped.clone();
        loop {
            tokio::select! {
                _ = tokio::time::sleep(PERIOD) => {}
                // An error means that the simulator was dropped, which ends the stream, too.
                _ = stopped.wait_for(|stopped| *stopped) => return None,
            }
            let observed = observe(&state);
            let changed = observed.iter().zip(&seen).filter(|(now, before)| now != before);
            let mut parts: Vec<_> = changed.map(|((part, _), _)| *part).collect();
            // An error means that the simulator was dropped, together with its webhooks.
            if webhooks.has_changed().unwrap_or(false) {
                webhooks.mark_unchanged();
                parts.push("webhooks");
            }
            if !parts.is_empty() {
                let event = Event::default().event("change").data(json!(parts).to_string());
                return Some((Ok(event), (state, observed, webhooks)));
            }
        }
    });
    Sse::new(changes).keep_alive(KeepAlive::default())
}
