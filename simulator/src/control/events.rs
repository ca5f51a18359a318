//! Server-sent events that tell the page which of its parts have changed, but not how.

use std::{collections::BTreeMap, convert::Infallible, time::Duration};

use axum::{
    extract::State,
    response::sse::{Event, KeepAlive, Sse},
};
use futures_util::{Stream, stream::unfold};

use super::Control;
use crate::{billing::accounts::Actor, state::AppState};

/// The polling interval. A task changes its status by the passage of time alone, so there is no
/// event to wait for.
const PERIOD: Duration = Duration::from_millis(250);

/// What was observed of the state. Parts that are equal have not changed.
#[derive(PartialEq, Eq)]
struct Observed {
    /// The numbers of tasks in each status and in total. A task never goes back to an earlier
    /// status, so if these are equal no task has changed.
    unfinished: BTreeMap<String, usize>,
    /// How often everything was replaced.
    resets: u64,
    ended: (u64, u64),
    accepted: u64,
    polls: u64,
    delivered: u64,
    refused: u64,
    requests: u64,
    /// The numbers of the newest entries of the ledger and the audit log, and of finetunes that can
    /// be used, which a task trains.
    accounts: (u64, u64, usize),
    /// The ids of the fault rules, with how often each has been applied.
    faults: Vec<(u64, u64)>,
    speed: u64,
}

impl Observed {
    fn at(state: &AppState) -> Self {
        let now = state.clock.unix_now();
        let mut records = state.records();
        records.tasks.settle(now, state.retention());
        let mut unfinished: BTreeMap<&str, usize> = BTreeMap::new();
        for task in records.tasks.unfinished() {
            *unfinished.entry(task.status(now, &state.config.in_progress)).or_default() += 1;
        }
        let (ledger, audit) = (
            records.accounts.ledger(&Actor::Operator, 1),
            records.accounts.audit_log(&Actor::Operator, 1),
        );
        Self {
            unfinished: unfinished
                .into_iter()
                .map(|(status, count)| (status.to_owned(), count))
                .collect(),
            resets: records.resets,
            ended: records.tasks.ended(),
            accepted: records.tasks.accepted(),
            polls: records.polls,
            delivered: records.delivered,
            refused: records.refused.values().sum(),
            requests: state.journal.written(),
            accounts: (
                ledger.first().map_or(0, |entry| entry.number),
                audit.first().map_or(0, |entry| entry.number),
                records.accounts.usable_finetunes(now),
            ),
            faults: state.faults.rules().into_iter().map(|rule| (rule.id, rule.applied)).collect(),
            speed: state.clock.speed().to_bits(),
        }
    }

    /// The parts of the page that have changed.
    fn differences(&self, other: &Self) -> Vec<&'static str> {
        let tasks = (self.accepted, self.ended, &self.unfinished)
            != (other.accepted, other.ended, &other.unfinished);
        let traffic = (self.polls, self.delivered, self.refused)
            != (other.polls, other.delivered, other.refused);
        let accounts = self.accounts != other.accounts;
        let all = self.resets != other.resets;
        let parts = [
            ("tasks", tasks),
            ("counts", tasks || traffic),
            ("requests", self.requests != other.requests),
            ("accounts", accounts),
            ("faults", self.faults != other.faults),
            ("clock", self.speed != other.speed),
        ];
        parts.into_iter().filter_map(|(part, differs)| (all || differs).then_some(part)).collect()
    }
}

pub(super) async fn stream(
    State(control): State<Control>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let first = Observed::at(&control.state);
    let webhooks = control.state.webhooks.changes();
    let changes =
        unfold((control, first, webhooks), |(mut control, seen, mut webhooks)| async move {
            loop {
                tokio::select! {
                    _ = tokio::time::sleep(PERIOD) => {}
                    // An error means that the simulator was dropped, which also stops it.
                    _ = control.stopped.wait_for(|stopped| *stopped) => return None,
                }
                let observed = Observed::at(&control.state);
                let mut parts = observed.differences(&seen);
                // An error means that the simulator was dropped, and its webhooks with it.
                if webhooks.has_changed().unwrap_or(false) {
                    webhooks.mark_unchanged();
                    parts.push("webhooks");
                }
                if !parts.is_empty() {
                    let event =
                        Event::default().event("change").data(serde_json::json!(parts).to_string());
                    return Some((Ok(event), (control, observed, webhooks)));
                }
            }
        });
    Sse::new(changes).keep_alive(KeepAlive::default())
}
