//! The webhooks: lists them, and sends one again.

use std::time::Duration;

use axum::extract::State;
use serde::Serialize;
use serde_json::json;

use super::{
    Shared,
    caller::Caller,
    logs::Newest,
    response::{self, At, ControlResult, Parameters, Problem},
};
use crate::webhooks::WebhookDelivery;

#[derive(Serialize)]
struct DeliveryShown {
    #[serde(flatten)]
    delivery: WebhookDelivery,
    /// The prompt of its task, if that is still stored.
    prompt: Option<String>,
}

/// Times of deliveries are seconds since `started_at`.
pub(super) async fn list(
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

/// Returns the new delivery.
pub(super) async fn redeliver(caller: Caller, At(number): At<u64>) -> ControlResult {
    let unknown = || Problem::not_found("delivery");
    let again = caller.state.webhooks.redeliver(number).ok_or_else(unknown)?;
    let view = caller.state.webhooks.views().into_iter().find(|delivery| delivery.id == again);
    let view = view.ok_or_else(unknown)?;
    let organization = {
        let records = caller.state.records();
        records.tasks.get(&view.task).map(|task| task.project.organization.clone())
    };
    let action = format!("send the webhook {number} of the task {} again", view.task);
    caller.record(organization.as_deref(), action);
    response::json(&view)
}
