//! Submissions: read, checked, accepted and charged.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::Serialize;
use tracing::info;

use crate::answer::{self, Refusal};
use crate::contract::Submission;
use crate::credits::{Credits, Megapixels};
use crate::order::Order;
use crate::paint::Picture;
use crate::poll;
use crate::server::Door;
use crate::service::Service;
use crate::size;
use crate::tasks::Task;
use crate::validation::{self, Image, Input, Violation};
use crate::webhooks::{Twist, Webhook};

/// Which operation is called.
pub(crate) struct Call {
    pub(crate) submission: Arc<Submission>,
    pub(crate) operation: String,
    pub(crate) operation_id: String,
}

/// The answer to a submission: with a polling address, or with the status and the webhook.
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

/// A request that fits.
struct Fitting {
    order: Order,
    inputs: Vec<Input>,
    size: (u32, u32),
}

pub(crate) async fn serve(door: &Door, call: Call, request: Request) -> Result<Response, Refusal> {
    let (head, body) = request.into_parts();
    let bytes = read(&head.headers, body, door.service.config.max_body_bytes).await?;
    check_content_type(&head.headers)?;
    let examine = {
        let service = Arc::clone(&door.service);
        let (submission, operation) = (Arc::clone(&call.submission), call.operation.clone());
        move || examine(&service, &submission, &operation, &bytes)
    };
    let examined = door.service.readers.run(examine).await.map_err(|_| Refusal::Broken)?;
    let fitting = examined.map_err(Refusal::Invalid)?;
    Ok(answer::json(StatusCode::OK, &accept(door, call, fitting)))
}

async fn read(headers: &HeaderMap, body: Body, limit: usize) -> Result<Bytes, Refusal> {
    let announced =
        headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > limit as u64) {
        drain(body, limit).await;
        return Err(Refusal::TooLarge(limit));
    }
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Refusal::TooLarge(limit)),
        Err(_) => Err(Refusal::Unreadable),
    }
}

/// Reads on and throws away, up to a bound, so that the client gets to read the answer rather than a reset.
async fn drain(mut body: Body, bound: usize) {
    let mut read = 0;
    while let Some(Ok(frame)) = body.frame().await {
        read += frame.data_ref().map_or(0, Bytes::len);
        if read > bound {
            return;
        }
    }
}

fn check_content_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let given = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json")) {
        return Ok(());
    }
    let msg = "Input should be a valid dictionary or object to extract fields from: the Content-Type should be application/json";
    Err(Refusal::Invalid(vec![Violation::new(["body"], "model_attributes_type", msg)]))
}

/// Everything that takes time: parsing, validation, decoding of images.
fn examine(
    service: &Service,
    submission: &Submission,
    operation: &str,
    bytes: &[u8],
) -> Result<Fitting, Vec<Violation>> {
    let mut checked = validation::check(submission, bytes, service.config.max_input_pixels)?;
    let size =
        size::of_request(&service.config, operation, &submission.fields, &checked.body, &checked.inputs)?;
    Ok(Fitting {
        order: Order::read(submission, &service.contract.secret_fields, &mut checked),
        inputs: checked.inputs,
        size,
    })
}

/// Makes the task and charges for it, both or neither.
fn accept(door: &Door, call: Call, fitting: Fitting) -> Accepted {
    let service = &door.service;
    let Fitting { order, inputs, size: (width, height) } = fitting;
    let input_mp = input_megapixels(&inputs);
    let output_mp = Megapixels::of_pixels(u64::from(width) * u64::from(height));
    let cost = service.config.prices.of(output_mp);
    let now = service.clock.now();

    let mut state = service.state();
    let number = state.tasks.count();
    let id = service.chance.task_id(number);
    let seed = order.seed.unwrap_or_else(|| service.chance.picture_seed(number).into());
    let task = Task {
        id: id.clone(),
        picture: Picture::new(&call.operation, &order.prompt, seed, (width, height), order.format, inputs),
        operation: call.operation,
        operation_id: call.operation_id,
        region: door.region,
        request: order.shown,
        wish: order.wish,
        cost,
        accepted_at: now,
        final_at: now.saturating_add(service.config.ready_after),
        polls: 0,
        deliveries: 0,
    };
    info!(task = id, operation = task.operation, region = %door.region, %cost, "accepted");
    let status = task.status(now, &service.config.in_progress).to_owned();
    if let Some(url) = &order.webhook_url {
        service.webhooks.enqueue(Webhook {
            task: id.clone(),
            url: url.clone(),
            secret: order.webhook_secret,
            final_at: task.final_at,
            result: poll::result(service, &task, task.final_at),
            twist: Twist::default(),
        });
    }
    state.charged = state.charged + cost;
    state.tasks.insert(task);
    state.tasks.release_images(now, service.config.delivery_lifetime);
    drop(state);

    let webhook_url = order.webhook_url.filter(|_| call.submission.answers_webhooks);
    Accepted {
        polling_url: webhook_url
            .is_none()
            .then(|| format!("{}/v1/get_result?id={id}", service.base(door.region))),
        status: webhook_url.is_some().then_some(status),
        webhook_url,
        id,
        cost,
        input_mp,
        output_mp,
    }
}

/// The area of the images that came with the request; unknown where one was given by its address.
fn input_megapixels(inputs: &[Input]) -> Option<Megapixels> {
    let pixels = inputs.iter().map(|input| match &input.image {
        Image::Inline(image) => Some(image.pixels()),
        Image::Elsewhere(_) => None,
    });
    pixels.sum::<Option<u64>>().map(Megapixels::of_pixels)
}
