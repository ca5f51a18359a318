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
use serde::Serialize;
use tracing::debug;

use super::Call;
use crate::{
    billing::credits::{Credits, Megapixels},
    endpoints::{Endpoint, poll},
    faults::{AppliedFaults, FaultPlace},
    http::response::{self, Problem},
    journal::RequestRecord,
    request::valid::ValidRequest,
    state::{AppState, Records},
    tasks::{Task, outcome::Outcome, timeline::Timeline},
    webhooks::Webhook,
};

/// The response to an accepted submission: either with the polling URL, or with the status and the
/// URL of the webhook.
#[derive(Serialize)]
struct Accepted {
    id: String,
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

/// The header of the response that names the fields of the request that had no effect.
const IGNORED_FIELDS: HeaderName = HeaderName::from_static("x-simulator-ignored-fields");

/// Checks that a submission can be accepted now, and returns the current time.
pub(super) fn admit(
    state: &AppState,
    records: &mut Records,
    call: &Call,
    cost: Credits,
) -> Result<Duration, Problem> {
    let (now, project) = (state.clock.unix_now(), &call.project);
    records.tasks.settle(now, state.retention());
    // Somebody may have revoked the key while the body arrived.
    if records.accounts.caller(&call.headers).map_err(Problem::forbidden)? != *project {
        return Err(Problem::forbidden("The key now belongs to another project"));
    }
    let most = records.accounts.max_active_tasks(project).unwrap_or(state.config.max_active_tasks);
    if records.tasks.active(project) >= most {
        let wait = records.tasks.next_end(project).unwrap_or(now).saturating_sub(now);
        // Convert the wait to real time, in which clients wait. If the clock is stopped, there is
        // no real time to wait for, so return the simulated one.
        let real = Duration::try_from_secs_f64(wait.as_secs_f64() / state.clock.speed());
        let detail = format!("The project has reached its limit of {most} active tasks");
        return Err(Problem::busy(real.unwrap_or(wait), detail));
    }
    let payment = records.accounts.check_payment(project, cost, now);
    payment.map_err(|problem| {
        let status = StatusCode::from_u16(state.config.unpaid_status);
        Problem::new(status.unwrap_or(StatusCode::PAYMENT_REQUIRED), problem)
    })?;
    Ok(now)
}

/// Applies the faults of a submission. Unless one of them replaces all processing, charges for the
/// submission and creates its task.
pub(super) fn accept(
    endpoint: &Endpoint,
    call: &Call,
    mut valid: ValidRequest,
    record: &mut RequestRecord,
) -> Result<(Response, AppliedFaults), Problem> {
    let state = &endpoint.state;
    let bill = Bill::of(state, call, &valid);
    let mut records = state.records();
    let admitted = admit(state, &mut records, call, bill.cost);
    let faults = &mut valid.directives.faults;
    let applied = state.faults.apply_to_submission(faults, admitted.is_ok());
    record.faults = applied.names();
    if let Some(response) = applied.replacement(FaultPlace::Submission) {
        return Ok((response, applied));
    }
    let ignored = ignored_header(&valid.ignored);
    let foreign_base = applied.foreign_base(state.config.scheme());
    let accepted = create(endpoint, &mut records, call, valid, bill, admitted?, foreign_base)?;
    record.set_task(&accepted.id);
    let mut response = response::json(StatusCode::OK, &accepted);
    response.headers_mut().extend(ignored);
    Ok((applied.after(response), applied))
}

fn ignored_header(names: &[String]) -> Option<(HeaderName, HeaderValue)> {
    let value = HeaderValue::try_from(names.join(", ")).ok()?;
    (!names.is_empty()).then_some((IGNORED_FIELDS, value))
}

/// Creates the task and charges for it, or does neither.
fn create(
    endpoint: &Endpoint,
    records: &mut Records,
    call: &Call,
    mut valid: ValidRequest,
    bill: Bill,
    now: Duration,
    foreign_base: Option<String>,
) -> Result<Accepted, Problem> {
    let state = &endpoint.state;
    let number = records.tasks.accepted();
    let id = state.chance.task_id(number);
    let charged = records.accounts.charge(&call.project, bill.cost, now, &id);
    // It was admitted under the same lock.
    charged.map_err(|_| Problem::internal())?;
    let webhook = valid.webhook.take();
    let finetune_name = valid.finetune_name.take();
    let mut task = new_task(endpoint, call, valid, (number, id), now, bill);
    let Task { id, operation, region, cost, .. } = &task;
    debug!(task = id, operation, %region, %cost, "accepted");
    if let Some((url, secret)) = &webhook {
        let faults = state.faults.webhook_faults(&mut task.directives.faults);
        state.webhooks.enqueue(&Webhook {
            task: task.id.clone(),
            url: url.clone(),
            secret: secret.clone(),
            final_at: state.clock.at_unix(task.final_at),
            result: poll::result_of(state, &task, task.final_at, &call.base),
            faults,
        });
    }
    let webhook_url =
        webhook.map(|(url, _)| url).filter(|_| state.config.webhooks.omit_polling_url);
    let base = foreign_base.as_ref().unwrap_or(&call.base);
    let status = || task.status(now, &state.config.in_progress).to_owned();
    let polling_url = || format!("{base}{}?id={}", state.contract.polling_path, task.id);
    let accepted = Accepted {
        id: task.id.clone(),
        polling_url: webhook_url.is_none().then(polling_url),
        status: webhook_url.is_some().then(status),
        webhook_url,
        cost: task.cost,
        input_mp: task.input_mp,
        output_mp: task.output_mp,
    };
    train(records, &task, finetune_name, now);
    records.tasks.insert(task);
    Ok(accepted)
}

/// If the task trains a finetune, adds the finetune, unless the task will fail.
fn train(records: &mut Records, task: &Task, name: Option<String>, now: Duration) {
    let is_training = task.picture.kind == OperationKind::Finetune;
    if is_training && task.directives.outcome == Outcome::Ready {
        let name = name.unwrap_or_else(|| task.id.clone());
        records.accounts.train(&task.project, name, (&task.id, task.final_at), now);
    }
}

/// The cost of a submission, and the areas on which it depends.
struct Bill {
    cost: Credits,
    input_mp: Option<Megapixels>,
    output_mp: Megapixels,
}

impl Bill {
    fn of(state: &AppState, call: &Call, valid: &ValidRequest) -> Self {
        let (width, height) = valid.picture.size;
        let megapixel = state.config.pixels_per_megapixel;
        let input_mp = input_megapixels(&valid.picture.inputs, megapixel);
        let output_mp = Megapixels::of_pixels(u64::from(width) * u64::from(height), megapixel);
        let price = state.config.prices.for_operation(&call.operation);
        let cost = price.of(input_mp.unwrap_or_default(), output_mp);
        Self { cost, input_mp, output_mp }
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

fn new_task(
    endpoint: &Endpoint,
    call: &Call,
    mut valid: ValidRequest,
    (number, id): (u64, String),
    now: Duration,
    bill: Bill,
) -> Task {
    let state = &endpoint.state;
    if !valid.has_seed {
        valid.picture.seed = state.chance.picture_seed(number).into();
    }
    let duration = state.config.time_of(&call.operation, state.chance, number);
    Task {
        id,
        project: call.project.clone(),
        picture: valid.picture,
        images_dropped: false,
        painted: None,
        final_at: now.saturating_add(duration),
        operation: call.operation.clone(),
        operation_id: call.operation_id.clone(),
        region: endpoint.region,
        base: call.base.clone(),
        request: valid.shown,
        ignored: valid.ignored,
        directives: valid.directives,
        cost: bill.cost,
        input_mp: bill.input_mp,
        output_mp: bill.output_mp,
        accepted_at: now,
        polls: 0,
        found_after: None,
        fetched_after: None,
        deliveries: 0,
        timeline: Timeline::default(),
    }
}
