//! Creates the task of a valid submission and charges for it.

use std::time::Duration;

use axum::http::HeaderMap;
use serde::Serialize;
use tracing::debug;

use super::call::{Call, ValidRequest};
use crate::{
    billing::{
        accounts::{ProjectRef, Training},
        credits::{Credits, Megapixels},
    },
    endpoints::{endpoint::Endpoint, rejection::Rejection, task_result},
    media::{
        images::{Image, Input},
        paint::{CLIP, Picture},
    },
    request::training::Trains,
    state::{AppState, Records},
    tasks::{Task, outcome::Outcome, timeline::Timeline},
    webhooks::{Webhook, WebhookFaults},
};

/// The response to a submission: with a polling URL, or with the status and the webhook.
#[derive(Serialize)]
pub(super) struct Accepted {
    pub(super) id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    polling_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    webhook_url: Option<String>,
    cost: Credits,
    input_mp: Option<Megapixels>,
    output_mp: Megapixels,
}

/// Fails if the submission cannot be accepted now. Before its body has been read, the least that it
/// can cost is checked.
pub(super) fn check(
    endpoint: &Endpoint,
    headers: &HeaderMap,
    call: &Call,
    valid: Option<&ValidRequest>,
) -> Result<(), Rejection> {
    let state = &endpoint.state;
    let nothing = Megapixels::default();
    let cost = match valid {
        Some(valid) => Bill::of(state, call, valid).cost,
        None => state.config.prices.for_operation(&call.operation).of(nothing, nothing),
    };
    let now = state.clock.unix_now();
    let mut records = state.records();
    records.tasks.settle(now, state.retention());
    admit(state, &records, headers, call, cost, now)
}

/// The key in `headers` may have been revoked while the body arrived.
fn admit(
    state: &AppState,
    records: &Records,
    headers: &HeaderMap,
    call: &Call,
    cost: Credits,
    now: Duration,
) -> Result<(), Rejection> {
    if records.accounts.caller(headers).map_err(Rejection::Forbidden)? != call.project {
        return Err(Rejection::Forbidden("The key now belongs to another project"));
    }
    check_active_tasks(state, records, &call.project, now)?;
    let payment = records.accounts.check_payment(&call.project, cost, now);
    payment.map_err(|unpaid| Rejection::Unpaid(state.config.unpaid_status, unpaid))
}

/// Creates the task and charges for it, or does neither.
pub(super) fn accept(
    endpoint: &Endpoint,
    headers: &HeaderMap,
    call: Call,
    mut valid: ValidRequest,
    foreign_base: Option<String>,
) -> Result<Accepted, Rejection> {
    let state = &endpoint.state;
    let bill = Bill::of(state, &call, &valid);
    let cost = bill.cost;
    let now = state.clock.unix_now();

    let mut records = state.records();
    records.tasks.settle(now, state.retention());
    admit(state, &records, headers, &call, cost, now)?;
    let number = records.tasks.accepted();
    let id = state.chance.task_id(number);
    let charged = records.accounts.charge(&call.project, cost, now, &id);
    charged.map_err(|unpaid| Rejection::Unpaid(state.config.unpaid_status, unpaid))?;
    let webhook_url = valid.parsed.webhook_url.take();
    let webhook_secret = valid.parsed.webhook_secret.take();
    let faults = match webhook_url {
        Some(_) => state.faults.webhook_faults(&mut valid.parsed.directives.faults),
        None => WebhookFaults::default(),
    };
    let base = call.base.clone();
    let trains = std::mem::replace(&mut valid.trains, Trains::Nothing);
    let task = new_task(endpoint, call, valid, (number, id), now, bill);
    let Task { id, operation, region, .. } = &task;
    debug!(task = id, operation, %region, %cost, "accepted");
    if let Some(url) = &webhook_url {
        state.webhooks.enqueue(Webhook {
            task: task.id.clone(),
            url: url.clone(),
            secret: webhook_secret,
            final_at: state.clock.at_unix(task.final_at),
            result: task_result::of(state, &task, task.final_at, &base),
            faults,
        });
    }
    let webhook_url = webhook_url.filter(|_| state.config.webhooks.omit_polling_url);
    let accepted = Accepted::new(state, &task, webhook_url, &foreign_base.unwrap_or(base));
    train(&mut records, &task, trains, now);
    records.tasks.insert(task);
    Ok(accepted)
}

/// Adds the finetune that the task trains, unless the task will fail.
fn train(records: &mut Records, task: &Task, trains: Trains, now: Duration) {
    let Trains::Finetune(name) = trains else { return };
    if task.directives.outcome != Outcome::Ready {
        return;
    }
    let name = name.unwrap_or_else(|| task.id.clone());
    let training = Training { name, task: task.id.clone(), ends_at: task.final_at };
    records.accounts.train(&task.project, training, now);
}

/// What a submission costs, and why.
struct Bill {
    cost: Credits,
    input_mp: Option<Megapixels>,
    output_mp: Megapixels,
}

impl Bill {
    fn of(state: &AppState, call: &Call, valid: &ValidRequest) -> Self {
        let (width, height) = valid.size;
        let megapixel = state.config.pixels_per_megapixel;
        let input_mp = input_megapixels(&valid.inputs, megapixel);
        let output_mp = Megapixels::of_pixels(u64::from(width) * u64::from(height), megapixel);
        let price = state.config.prices.for_operation(&call.operation);
        let cost = price.of(input_mp.unwrap_or_default(), output_mp);
        Self { cost, input_mp, output_mp }
    }
}

fn new_task(
    endpoint: &Endpoint,
    call: Call,
    valid: ValidRequest,
    (number, id): (u64, String),
    now: Duration,
    bill: Bill,
) -> Task {
    let state = &endpoint.state;
    let ValidRequest { parsed, inputs, size, moments, .. } = valid;
    let seed = parsed.seed.unwrap_or_else(|| state.chance.picture_seed(number).into());
    Task {
        id,
        project: call.project,
        picture: Picture {
            operation: call.operation.clone(),
            kind: call.submission.rules.kind,
            prompt: parsed.prompt.into(),
            seed,
            settings: parsed.settings,
            size,
            format: parsed.format,
            inputs,
            moments,
        },
        images_dropped: false,
        painted: None,
        final_at: now.saturating_add(state.config.time_of(&call.operation)),
        operation: call.operation,
        operation_id: call.operation_id,
        region: endpoint.region,
        base: call.base,
        request: parsed.shown,
        ignored: parsed.ignored,
        directives: parsed.directives,
        cost: bill.cost,
        input_mp: bill.input_mp,
        output_mp: bill.output_mp,
        accepted_at: now,
        polls: 0,
        deliveries: 0,
        timeline: Timeline::default(),
    }
}

impl Accepted {
    /// The response for a new task. With `webhook_url` it has the status instead of a polling URL.
    fn new(state: &AppState, task: &Task, webhook_url: Option<String>, base: &str) -> Self {
        let status = task.status(task.accepted_at, &state.config.in_progress).to_owned();
        Self {
            polling_url: webhook_url
                .is_none()
                .then(|| format!("{base}/v1/get_result?id={}", task.id)),
            status: webhook_url.is_some().then_some(status),
            webhook_url,
            id: task.id.clone(),
            cost: task.cost,
            input_mp: task.input_mp,
            output_mp: task.output_mp,
        }
    }
}

/// Rejects a submission of a project that has reached its maximum of active tasks.
fn check_active_tasks(
    state: &AppState,
    records: &Records,
    project: &ProjectRef,
    now: Duration,
) -> Result<(), Rejection> {
    let most = records.accounts.max_active_tasks(project).unwrap_or(state.config.max_active_tasks);
    if records.tasks.active(project) < most {
        return Ok(());
    }
    let wait = records.tasks.next_end(project).unwrap_or(now).saturating_sub(now);
    // Clients wait in real time. While the clock is stopped, the wait is unknown.
    let speed = state.clock.speed();
    let real = Duration::try_from_secs_f64(wait.as_secs_f64() / speed);
    Err(Rejection::TooManyTasks { most, wait: real.unwrap_or(wait) })
}

/// The area of the request's images without masks; unknown if one was given by its URL.
fn input_megapixels(inputs: &[Input], megapixel: u64) -> Option<Megapixels> {
    // Of a video, the first frame counts.
    let is_counted = |input: &&Input| {
        !input.is_mask && (input.place == format!("{CLIP}0") || !input.place.starts_with(CLIP))
    };
    let pixels = inputs.iter().filter(is_counted).map(|input| match &input.image {
        Image::Inline(image) => Some(image.pixels()),
        Image::Elsewhere(_) => None,
    });
    pixels.sum::<Option<u64>>().map(|pixels| Megapixels::of_pixels(pixels, megapixel))
}
