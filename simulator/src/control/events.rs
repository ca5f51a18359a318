//! What changed, told to the page as server-sent events: which of its parts to read again, and not
//! what is new there.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use futures_util::stream::unfold;

use super::Control;
use crate::accounts::Actor;
use crate::service::Service;

/// How often to look. A task changes its status by the passing of time alone, so there is nothing
/// to wait for.
const PERIOD: Duration = Duration::from_millis(250);

/// What a look finds. Parts that are equal have not changed.
#[derive(PartialEq, Eq)]
struct Look {
    /// How many tasks have come so far, in each status and in all. A task never goes back, so where
    /// these are equal no task has moved.
    unfinished: BTreeMap<String, usize>,
    ended: (u64, u64),
    accepted: u64,
    polls: u64,
    delivered: u64,
    refused: u64,
    /// The numbers of the newest entries of the ledger and the audit log.
    accounts: (u64, u64),
    /// The numbers of the rules for faults, each with how often it struck.
    faults: Vec<(u64, u64)>,
    speed: u64,
}

impl Look {
    fn at(service: &Service) -> Self {
        let now = service.clock.now();
        let mut state = service.state();
        state.tasks.settle(now, service.room());
        let mut unfinished: BTreeMap<&str, usize> = BTreeMap::new();
        for task in state.tasks.unfinished() {
            *unfinished.entry(task.status(now, &service.config.in_progress)).or_default() += 1;
        }
        let (ledger, audit) = (
            state.accounts.ledger(&Actor::Operator, 1),
            state.accounts.audit_log(&Actor::Operator, 1),
        );
        Self {
            unfinished: unfinished
                .into_iter()
                .map(|(status, count)| (status.to_owned(), count))
                .collect(),
            ended: state.tasks.ended(),
            accepted: state.tasks.accepted(),
            polls: state.polls,
            delivered: state.delivered,
            refused: state.refused.values().sum(),
            accounts: (
                ledger.first().map_or(0, |entry| entry.number),
                audit.first().map_or(0, |entry| entry.number),
            ),
            faults: service.faults.rules().into_iter().map(|rule| (rule.id, rule.struck)).collect(),
            speed: service.clock.speed().to_bits(),
        }
    }

    /// The parts of the page to read again.
    fn differences(&self, other: &Self) -> Vec<&'static str> {
        let tasks = (self.accepted, self.ended, &self.unfinished)
            != (other.accepted, other.ended, &other.unfinished);
        let traffic = (self.polls, self.delivered, self.refused)
            != (other.polls, other.delivered, other.refused);
        let accounts = self.accounts != other.accounts;
        let parts = [
            ("tasks", tasks),
            ("counts", tasks || traffic),
            ("accounts", accounts),
            ("faults", self.faults != other.faults),
            ("clock", self.speed != other.speed),
        ];
        parts.into_iter().filter_map(|(part, differs)| differs.then_some(part)).collect()
    }
}

pub(super) async fn stream(
    State(control): State<Control>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let first = Look::at(&control.service);
    let webhooks = control.service.webhooks.changes();
    let changes =
        unfold((control, first, webhooks), |(mut control, seen, mut webhooks)| async move {
            loop {
                tokio::select! {
                    _ = tokio::time::sleep(PERIOD) => {}
                    // An error means that the simulator is gone, which is a stop too.
                    _ = control.stopped.wait_for(|stopped| *stopped) => return None,
                }
                let look = Look::at(&control.service);
                let mut parts = look.differences(&seen);
                // An error means that the simulator is gone, and with it the webhooks.
                if webhooks.has_changed().unwrap_or(false) {
                    webhooks.mark_unchanged();
                    parts.push("webhooks");
                }
                if !parts.is_empty() {
                    let event =
                        Event::default().event("change").data(serde_json::json!(parts).to_string());
                    return Some((Ok(event), (control, look, webhooks)));
                }
            }
        });
    Sse::new(changes).keep_alive(KeepAlive::default())
}
