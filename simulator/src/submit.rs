//! Submissions: read, checked, accepted and charged.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::Serialize;
use serde_json::Value;
use tracing::info;

use crate::accounts::ProjectRef;
use crate::answer::{self, Refusal};
use crate::contract::Submission;
use crate::credits::{Credits, Megapixels};
use crate::faults::{Asks, FaultPlace};
use crate::order::Order;
use crate::paint::{Brief, Format, Picture};
use crate::poll;
use crate::serve;
use crate::server::Door;
use crate::service::{Service, State};
use crate::size;
use crate::tasks::Task;
use crate::validation::{self, Image, Input, Violation};
use crate::video;
use crate::webhooks::{Twist, Webhook};

/// Which operation is called, and for which project.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) project: ProjectRef,
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

pub(crate) async fn serve(
    door: &Door,
    call: Call,
    headers: &HeaderMap,
    body: &mut Body,
) -> Result<Response, Refusal> {
    let asked = Asks::in_header(headers, FaultPlace::Submission)?;
    let bytes = read(headers, body, door.service.config.max_body_bytes).await?;
    check_content_type(headers)?;
    let examine = {
        let service = Arc::clone(&door.service);
        let call = call.clone();
        let headers = headers.clone();
        move || {
            let mut fitting = examine(&service, &call, &bytes)?;
            fitting.order.wish.faults.join(asked, &call.operation, &headers, &bytes);
            Ok(fitting)
        }
    };
    let examined = door.service.readers.run(examine).await.map_err(|_| Refusal::Broken)?;
    let mut fitting = examined.map_err(Refusal::Invalid)?;
    let strike = door.service.faults.strike_submission(&mut fitting.order.wish.faults);
    let response = match strike.instead(FaultPlace::Submission) {
        Some(response) => response,
        None => {
            let accepted = accept(door, call, fitting, strike.foreign_base())?;
            strike.after(answer::json(StatusCode::OK, &accepted))
        }
    };
    Ok(strike.hold_back(&door.service.clock, response).await)
}

async fn read(headers: &HeaderMap, body: &mut Body, limit: usize) -> Result<Bytes, Refusal> {
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > limit as u64) {
        return Err(Refusal::TooLarge(limit));
    }
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Refusal::TooLarge(limit)),
        Err(error) if serve::is_too_slow(&*error) => Err(Refusal::TooSlow),
        Err(_) => Err(Refusal::Unreadable),
    }
}

fn check_content_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let given =
        headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json")) {
        return Ok(());
    }
    let msg = "Input should be a valid dictionary or object to extract fields from: the Content-Type should be application/json";
    Err(Refusal::Invalid(vec![Violation::new(["body"], "model_attributes_type", msg)]))
}

/// Everything that takes time: parsing, validation, decoding of images.
fn examine(service: &Service, call: &Call, bytes: &[u8]) -> Result<Fitting, Vec<Violation>> {
    let submission = &call.submission;
    let mut checked = validation::check(submission, bytes, service.config.max_input_pixels)?;
    check_finetune(service, call, &checked.body)?;
    let size = size::of_request(
        &service.config,
        &call.operation,
        &submission.fields,
        &checked.body,
        &checked.inputs,
    )?;
    let film = video::is_made_by(&call.operation)
        .then(|| video::Ask::read(&checked.body, size))
        .transpose()?;
    let (secrets, moderation) = (&service.contract.secret_fields, &service.config.moderation);
    let mut order = Order::read(submission, secrets, moderation, &mut checked);
    if let Some(film) = film {
        order.format = Format::Video(film);
    }
    Ok(Fitting { order, inputs: checked.inputs, size })
}

/// Whether the finetune that the request names is one that the project may use.
fn check_finetune(service: &Service, call: &Call, body: &Value) -> Result<(), Vec<Violation>> {
    let named = body
        .get("finetune_id")
        .and_then(Value::as_str)
        .filter(|_| call.operation.ends_with("-finetuned"));
    if named.is_none_or(|id| service.state().accounts.knows_finetune(&call.project, id)) {
        return Ok(());
    }
    let problem = "the project has no finetune of this name";
    Err(vec![Violation::value(vec!["body".into(), "finetune_id".into()], problem)])
}

/// Makes the task and charges for it, both or neither.
fn accept(
    door: &Door,
    call: Call,
    fitting: Fitting,
    foreign_base: Option<String>,
) -> Result<Accepted, Refusal> {
    let service = &door.service;
    let Fitting { mut order, inputs, size: (width, height) } = fitting;
    let input_mp = input_megapixels(&inputs);
    let output_mp = Megapixels::of_pixels(u64::from(width) * u64::from(height));
    let price = service.config.prices.for_operation(&call.operation);
    let cost = price.of(input_mp.unwrap_or_default(), output_mp);
    let now = service.clock.now();

    let mut state = service.state();
    state.tasks.settle(now, service.room());
    check_active_tasks(service, &state, &call.project, now)?;
    let number = state.tasks.accepted();
    let id = service.chance.task_id(number);
    let charged = state.accounts.charge(&call.project, cost, service.clock.unix_at(now), &id);
    charged.map_err(|unpaid| Refusal::Unpaid(service.config.unpaid_status, unpaid))?;
    let twist = match order.webhook_url {
        Some(_) => service.faults.twist(&mut order.wish.faults),
        None => Twist::default(),
    };
    let seed = order.seed.unwrap_or_else(|| service.chance.picture_seed(number).into());
    let task = Task {
        id: id.clone(),
        project: call.project,
        picture: Picture::new(Brief {
            operation: call.operation.clone(),
            prompt: order.prompt,
            seed,
            settings: order.settings,
            size: (width, height),
            format: order.format,
            inputs,
        }),
        images_let_go: false,
        painted: None,
        final_at: now.saturating_add(service.config.time_of(&call.operation)),
        operation: call.operation,
        operation_id: call.operation_id,
        region: door.region,
        request: order.shown,
        wish: order.wish,
        cost,
        input_mp,
        output_mp,
        accepted_at: now,
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
            twist,
        });
    }
    state.tasks.insert(task);
    drop(state);

    let omits_polling_url =
        call.submission.answers_webhooks || service.config.webhooks.omit_polling_url;
    let webhook_url = order.webhook_url.filter(|_| omits_polling_url);
    Ok(Accepted {
        polling_url: webhook_url.is_none().then(|| {
            let base = foreign_base.as_deref().unwrap_or(service.base(door.region));
            format!("{base}/v1/get_result?id={id}")
        }),
        status: webhook_url.is_some().then_some(status),
        webhook_url,
        id,
        cost,
        input_mp,
        output_mp,
    })
}

/// Refuses a project that has as many active tasks as it may.
fn check_active_tasks(
    service: &Service,
    state: &State,
    project: &ProjectRef,
    now: Duration,
) -> Result<(), Refusal> {
    let most = state.accounts.max_active_tasks(project).unwrap_or(service.config.max_active_tasks);
    if state.tasks.active(project) < most {
        return Ok(());
    }
    let wait = state.tasks.next_end(project).unwrap_or(now).saturating_sub(now);
    // Clients wait in real time. Where the clock stands still there is no saying how long.
    let speed = service.clock.speed();
    let real = Duration::try_from_secs_f64(wait.as_secs_f64() / speed);
    Err(Refusal::TooManyTasks { most, wait: real.unwrap_or(wait) })
}

/// The area of the images that came with the request; unknown where one was given by its address.
fn input_megapixels(inputs: &[Input]) -> Option<Megapixels> {
    let pixels = inputs.iter().map(|input| match &input.image {
        Image::Inline(image) => Some(image.pixels()),
        Image::Elsewhere(_) => None,
    });
    pixels.sum::<Option<u64>>().map(Megapixels::of_pixels)
}
