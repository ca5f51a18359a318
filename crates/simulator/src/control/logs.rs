//! Shows the audit log, the ledger, the usage, the webhooks, and the journal of requests.

use std::time::Duration;

use axum::{
    extract::State,
    http::header::CONTENT_TYPE,
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use time::UtcDateTime;

use super::{
    Shared,
    response::{self, At, Caller, Change, ControlResult, Parameters, Problem},
};
use crate::{
    billing::{accounts::Actor, credits::Credits},
    journal::RequestPattern,
    tasks::Task,
    webhooks::WebhookDelivery,
};

/// The default number of entries in a response, and the maximum.
const ENTRIES: usize = 100;
const MAX_ENTRIES: usize = 10_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Newest {
    limit: Option<usize>,
}

impl Newest {
    pub(super) fn limit(&self) -> usize {
        self.limit.unwrap_or(ENTRIES).min(MAX_ENTRIES)
    }
}

pub(super) async fn audit(
    Caller { state, actor }: Caller,
    Parameters(newest): Parameters<Newest>,
) -> ControlResult {
    let entries = state.records().accounts.audit_log(&actor, newest.limit());
    response::json(&json!({ "entries": entries }))
}

/// Shows the ledger. Only the operator also gets the balances of all accounts, which add up to
/// zero.
pub(super) async fn ledger(
    Caller { state, actor }: Caller,
    Parameters(newest): Parameters<Newest>,
) -> ControlResult {
    let records = state.records();
    let entries = records.accounts.ledger(&actor, newest.limit());
    let balances = (actor == Actor::Operator).then(|| records.accounts.balances());
    response::json(&json!({ "entries": entries, "balances": balances }))
}

/// Searches the journal.
pub(super) async fn requests(
    State(state): Shared,
    Parameters(pattern): Parameters<RequestPattern>,
) -> ControlResult {
    // A query cannot contain a part of a body.
    if pattern.request.is_some() {
        let advice = "`request` is a part of a body: post it to /api/requests/verify";
        return Err(Problem::malformed(advice));
    }
    response::json(&state.journal.find(&pattern))
}

pub(super) async fn verify(
    State(state): Shared,
    Change(pattern): Change<RequestPattern>,
) -> ControlResult {
    response::json(&state.journal.find(&pattern))
}

const HEADING: &str = "time,task_id,model,cost,prompt\r\n";

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    #[default]
    Csv,
    Json,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    #[serde(default)]
    format: Format,
}

/// A task and its cost, for the usage.
#[derive(Serialize)]
struct Entry<'t> {
    /// When the task was accepted, in RFC 3339.
    time: String,
    task_id: &'t str,
    model: &'t str,
    cost: Credits,
    prompt: &'t str,
}

impl<'t> Entry<'t> {
    fn of(task: &'t Task) -> Self {
        let seconds = task.accepted_at.as_secs().try_into().unwrap_or_default();
        let time = UtcDateTime::from_unix_timestamp(seconds).unwrap_or(UtcDateTime::UNIX_EPOCH);
        let (date, (hour, minute, second)) = (time.date(), time.as_hms());
        Self {
            time: format!("{date}T{hour:02}:{minute:02}:{second:02}Z"),
            task_id: &task.id,
            model: &task.operation,
            cost: task.cost,
            prompt: task.prompt(),
        }
    }

    fn csv(&self) -> String {
        let cost = f64::from(self.cost);
        let prompt = self.prompt.replace('"', "\"\"");
        format!("{},{},{},{cost},\"{prompt}\"\r\n", self.time, self.task_id, self.model)
    }
}

/// Shows the cost of all tasks that the simulator keeps, oldest first.
pub(super) async fn usage(
    State(state): Shared,
    Parameters(wanted): Parameters<Wanted>,
) -> ControlResult {
    let records = state.records();
    let entries = records.tasks.iter().map(Entry::of);
    match wanted.format {
        Format::Json => response::json(&json!({ "usage": entries.collect::<Vec<_>>() })),
        Format::Csv => Ok(csv(entries.map(|entry| entry.csv()).collect())),
    }
}

fn csv(rows: String) -> Response {
    ([(CONTENT_TYPE, "text/csv; charset=utf-8")], format!("{HEADING}{rows}")).into_response()
}

#[derive(Serialize)]
struct DeliveryShown {
    #[serde(flatten)]
    delivery: WebhookDelivery,
    /// The prompt of the task, if the simulator still has the task.
    prompt: Option<String>,
}

/// Shows the newest deliveries. Their times are seconds since `started_at`.
pub(super) async fn webhooks(
    State(state): Shared,
    Parameters(newest): Parameters<Newest>,
) -> ControlResult {
    let all = state.webhooks.views();
    let total = all.len();
    let deliveries: Vec<_> = {
        let records = state.records();
        let prompt = |task: &str| Some(records.tasks.get(task)?.prompt().to_owned());
        let shown =
            |delivery: WebhookDelivery| DeliveryShown { prompt: prompt(&delivery.task), delivery };
        all.into_iter().rev().take(newest.limit()).map(shown).collect()
    };
    let started_at = state.clock.unix_at(Duration::ZERO).as_secs_f64();
    response::json(&json!({ "total": total, "started_at": started_at, "deliveries": deliveries }))
}

/// Sends a webhook again, and returns the new delivery.
pub(super) async fn redeliver(caller: Caller, At(number): At<u64>) -> ControlResult {
    let view = caller.state.webhooks.redeliver(number);
    let view = view.ok_or_else(|| Problem::unknown("delivery"))?;
    let task = caller.state.records().tasks.get(&view.task).map(|task| task.project.clone());
    let organization = task.map(|project| project.organization);
    let action = format!("send the webhook {number} of the task {} again", view.task);
    caller.record(organization.as_deref(), action);
    response::json(&view)
}
