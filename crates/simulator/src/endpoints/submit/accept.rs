//! Charges for a valid submission and creates its task, or rejects the submission.

use std::time::Duration;

use axum::{
    http::{HeaderName, HeaderValue, StatusCode},
    response::Response,
};
use imagekiln_painter::{
    images::{Image, Input},
    paint::{CLIP, OperationKind},
};
use serde_json::{Value, json};
use tracing::debug;

use super::Call;
use crate::{
    billing::credits::{Credits, Megapixels},
    config::Config,
    endpoints::{Endpoint, poll},
    faults::{AppliedFaults, FaultPlace},
    http::response::{self, Handled, Problem},
    journal::RequestRecord,
    request::valid::ValidRequest,
    state::{AppState, Records},
    tasks::{Task, outcome::Outcome, timeline::Timeline},
    values::secret::Secret,
    webhooks::Webhook,
};

/// The header of the response that names the fields of the request that had no effect.
const IGNORED_FIELDS: HeaderName = HeaderName::from_static("x-simulator-ignored-fields");

/// Checks that a submission can be accepted now, and returns the current time.
pub(super) fn admit(call: &Call, records: &mut Records, cost: Credits) -> Handled<Duration> {
    let (state, project) = (&call.endpoint.state, &call.project);
    let now = state.clock.unix_now();
    records.tasks.settle(now);
    // Somebody may have revoked the key while the body arrived.
    if records.accounts.caller(&call.headers).map_err(Problem::forbidden)? != *project {
        return Err(Problem::forbidden("The key now belongs to another project"));
    }
    let most = records.accounts.project(project).and_then(|project| project.max_active_tasks);
    let most = most.unwrap_or(state.config.max_active_tasks);
    if records.tasks.active(project) >= most {
        let wait = records.tasks.next_end(project).unwrap_or(now).saturating_sub(now);
        // Convert the wait to real time, in which clients wait. If the clock is stopped, there is
        // no real time to wait for, so return the simulated one.
        let real = Duration::try_from_secs_f64(wait.as_secs_f64() / state.clock.speed());
        let detail = format!("The project has reached its limit of {most} active tasks");
        return Err(Problem::busy(real.unwrap_or(wait), detail));
    }
    records.accounts.check_payment(project, cost, now).map_err(|problem| {
        let status = StatusCode::from_u16(state.config.unpaid_status);
        Problem::new(status.unwrap_or(StatusCode::PAYMENT_REQUIRED), problem)
    })?;
    Ok(now)
}

/// Applies the faults of a submission. Unless one of them replaces all processing, charges for the
/// submission and creates its task, or does neither.
pub(super) fn accept(
    call: &Call,
    mut valid: ValidRequest,
    record: &mut RequestRecord,
) -> Handled<(Response, AppliedFaults)> {
    let state = &call.endpoint.state;
    let (webhook, finetune_name) = (valid.webhook.take(), valid.finetune_name.take());
    let has_seed = valid.has_seed;
    let mut task = draft(call, valid);
    let mut records = state.records();
    let admitted = admit(call, &mut records, task.cost);
    let requested = &mut task.directives.faults;
    let applied = state.faults.apply_to_submission(requested, admitted.is_ok());
    record.faults = applied.names();
    if let Some(response) = applied.replacement(FaultPlace::Submission) {
        return Ok((response, applied));
    }
    let (now, number) = (admitted?, records.tasks.accepted());
    task.id = state.chance.task_id(number);
    if !has_seed {
        task.picture.seed = state.chance.picture_seed(number).into();
    }
    let duration = state.config.time_of(&task.operation, state.chance, number);
    (task.accepted_at, task.final_at) = (now, now.saturating_add(duration));
    // This cannot fail, because the submission was admitted under the same lock.
    records.accounts.charge(&task.project, task.cost, now, &task.id)?;
    let Task { id, operation, region, cost, .. } = &task;
    debug!(task = id, operation, %region, %cost, "accepted");
    record.set_task(id);
    let webhook_url = webhook.map(|webhook| send(state, &mut task, webhook));
    let accepted = accepted(call, &task, webhook_url, applied.foreign_base(state.config.scheme()));
    let mut response = response::json(StatusCode::OK, &accepted);
    response.headers_mut().extend(ignored_header(&task.ignored));
    train(&mut records, &task, finetune_name);
    records.tasks.insert(task);
    Ok((applied.after(response), applied))
}

fn ignored_header(names: &[String]) -> Option<(HeaderName, HeaderValue)> {
    let value = HeaderValue::try_from(names.join(", ")).ok()?;
    (!names.is_empty()).then_some((IGNORED_FIELDS, value))
}

/// Queues the webhook of a task, and returns its URL.
fn send(state: &AppState, task: &mut Task, webhook: (String, Option<Secret<String>>)) -> String {
    let (url, secret) = webhook;
    let faults = state.faults.apply(FaultPlace::Webhook, &mut task.directives.faults, None);
    state.webhooks.enqueue(&Webhook {
        task: task.id.clone(),
        url: url.clone(),
        secret,
        final_at: state.clock.at_unix(task.final_at),
        faults: faults.of_webhook(),
        result: poll::result_of(state, task, task.final_at, &task.base),
    });
    url
}

/// The response to an accepted submission: either with the polling URL, or with the status and the
/// URL of the webhook.
fn accepted(
    call: &Call,
    task: &Task,
    webhook_url: Option<String>,
    foreign_base: Option<String>,
) -> Value {
    let AppState { config, contract, .. } = &*call.endpoint.state;
    let Task { id, cost, input_mp, output_mp, .. } = task;
    let base = foreign_base.as_ref().unwrap_or(&task.base);
    match webhook_url.filter(|_| config.webhooks.omit_polling_url) {
        None => json!({
            "id": id,
            "polling_url": format!("{base}{}?id={id}", contract.polling_path),
            "cost": cost,
            "input_mp": input_mp,
            "output_mp": output_mp,
        }),
        Some(webhook_url) => json!({
            "id": id,
            "status": task.status(task.accepted_at, &config.in_progress),
            "webhook_url": webhook_url,
            "cost": cost,
            "input_mp": input_mp,
            "output_mp": output_mp,
        }),
    }
}

/// If the task trains a finetune, adds the finetune, unless the task will fail.
fn train(records: &mut Records, task: &Task, name: Option<String>) {
    let is_training = task.picture.kind == OperationKind::Finetune;
    if is_training && task.directives.outcome == Outcome::Ready {
        let name = name.unwrap_or_else(|| task.id.clone());
        let (unix, ends_at) = (task.accepted_at, task.final_at);
        records.accounts.train(&task.project, name, (&task.id, ends_at), unix);
    }
}

/// The area of the request's images, without masks. Unknown if an image was given by its URL.
fn input_megapixels(inputs: &[Input], megapixel: u64) -> Option<Megapixels> {
    // Only the first frame of a video counts.
    let is_counted = |input: &&Input| {
        !input.is_mask && (input.place == format!("{CLIP}0") || !input.place.starts_with(CLIP))
    };
    let pixels = inputs.iter().filter(is_counted).map(|input| match &input.image {
        Image::Inline(image) => Some(image.pixels()),
        Image::Elsewhere(_) => None,
    });
    pixels.sum::<Option<u64>>().map(|pixels| Megapixels::of_pixels(pixels, megapixel))
}

/// Makes the task of a submission that may still be rejected. It has no number yet, which
/// determines its id, its times and a random seed.
fn draft(call: &Call, valid: ValidRequest) -> Task {
    let Endpoint { state, region, .. } = &call.endpoint;
    let Config { prices, pixels_per_megapixel: megapixel, .. } = &state.config;
    let (width, height) = valid.picture.size;
    let input_mp = input_megapixels(&valid.picture.inputs, *megapixel);
    let output_mp = Megapixels::of_pixels(u64::from(width) * u64::from(height), *megapixel);
    let price = prices.for_operation(&call.operation);
    Task {
        id: String::new(),
        project: call.project.clone(),
        picture: valid.picture,
        images_dropped: false,
        painted: None,
        operation: call.operation.clone(),
        operation_id: call.operation_id.clone(),
        region: *region,
        base: call.base.clone(),
        request: valid.shown,
        ignored: valid.ignored,
        directives: valid.directives,
        cost: price.of(input_mp.unwrap_or_default(), output_mp),
        input_mp,
        output_mp,
        accepted_at: Duration::ZERO,
        final_at: Duration::ZERO,
        polls: 0,
        found_after: None,
        fetched_after: None,
        deliveries: 0,
        timeline: Timeline::default(),
    }
}
