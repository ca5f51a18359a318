//! Submissions. The simulator handles a submission in these steps:
//!
//! 1. It checks that the headers announce JSON, and reads the faults that they request.
//! 2. If the body is large, it checks the key, the project's active tasks, and whether the project
//!    can pay the lowest possible price. That spares the client an upload that would be rejected.
//! 3. It reads the body, within the limits of size, time and memory.
//! 4. [`examine`] validates the body on a worker, fetches and decodes the images, and reads what
//!    the request asks for.
//! 5. [`accept`] repeats the checks of step 2, with the actual price, because other submissions may
//!    have been accepted while the body arrived. Then it applies faults, charges for the
//!    submission, and creates the task. All of this happens under one lock, so a submission is
//!    charged if and only if it has a task.
//! 6. It responds with the polling URL, unless a fault replaces or delays the response.

mod accept;

use std::{collections::BTreeSet, sync::Arc};

use axum::{
    body::Body,
    http::{HeaderMap, request::Parts},
};
use imagekiln_painter::{
    images::Inline,
    paint::{Format, OperationKind},
};
use serde_json::Value;

use self::accept::admit;
use super::{Endpoint, invalid};
use crate::{
    billing::{accounts::ProjectRef, credits::Megapixels},
    contract::{Step, Submission, Validated, Violation},
    faults::{FaultSource, RequestedFaults},
    http::{
        body::{self, ReadBody},
        response::{Handled, Problem, media_type},
    },
    journal::RequestRecord,
    request::{
        fetch::Fetched,
        film::Material,
        size,
        valid::{self, ValidRequest},
        validation::{self, Checked, check_limits},
    },
    runtime::workers::JobSize,
    tasks::logged_request::LoggedRequest,
    values::texts,
};

/// If a body is larger than this, the simulator checks whether the submission can be accepted even
/// before it reads the body.
const MAX_SMALL_BODY: u64 = 64 << 10;

/// A submission without its body: the operation, the caller, and the headers.
pub(super) struct Call {
    pub(super) endpoint: Endpoint,
    pub(super) project: ProjectRef,
    pub(super) submission: Arc<Submission>,
    pub(super) operation: String,
    pub(super) operation_id: String,
    /// The base URL at which the client reaches the simulator.
    pub(super) base: String,
    pub(super) headers: HeaderMap,
}

/// Validates a submission and creates its task.
pub(super) async fn submit(
    call: Call,
    head: &Parts,
    body: &mut Body,
    record: &mut RequestRecord,
) -> Handled {
    let state = &call.endpoint.state;
    let faults = RequestedFaults::in_header(&call.headers, FaultSource::Submission)
        .map_err(Problem::malformed)?;
    check_content_type(&call.headers)?;
    if body::announced(&call.headers).is_none_or(|length| length > MAX_SMALL_BODY) {
        let price = state.config.prices.for_operation(&call.operation);
        let nothing = Megapixels::default();
        admit(&call, &mut state.records(), price.of(nothing, nothing))?;
    }
    let share = Arc::clone(&state.bodies).try_acquire_many_owned(0).ok();
    let (limit, time) = (state.config.max_body_bytes, state.config.client_timeout);
    let body = body::read(head, body, limit, share, time).await?;
    let (call, body) = (Arc::new(call), Arc::new(body));
    let mut valid = examine(&call, &body, record).await?;
    valid.directives.faults.join(faults, &call.operation, &call.headers, &body.bytes);
    let (response, applied) = accept::accept(&call, valid, record)?;
    Ok(applied.delay(&call.endpoint.state.clock, response).await)
}

fn check_content_type(headers: &HeaderMap) -> Handled<()> {
    let kind = media_type(headers).to_ascii_lowercase();
    if kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json")) {
        return Ok(());
    }
    let msg = concat!(
        "Input should be a valid dictionary or object to extract fields from: ",
        "the Content-Type should be application/json",
    );
    Err(invalid(vec![Violation::new(["body"], "model_attributes_type", msg)]))
}

/// The maximum size of all texts of a request together, without images and videos, in bytes.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// The result for a body whose images have not been decoded yet.
struct Examined {
    request: Result<ValidRequest, Vec<Violation>>,
    images: Vec<(Vec<Step>, Inline)>,
    /// The body for the journal, without images and secrets, if it is JSON.
    logged: Option<LoggedRequest>,
}

/// Validates a body, and fetches the images that it gives by their URLs. Decodes each image as a
/// separate job, so that a request with large images does not delay other requests much.
async fn examine(
    call: &Arc<Call>,
    body: &Arc<ReadBody>,
    record: &mut RequestRecord,
) -> Handled<ValidRequest> {
    let state = &call.endpoint.state;
    let mut size = JobSize::of_bytes(body.bytes.len());
    if call.submission.rules.kind == OperationKind::Video {
        // A body of a few bytes can contain a video with large frames.
        size = size.max(JobSize::Small);
    }
    let read = async |fetched: Fetched| {
        let (call, body) = (Arc::clone(call), Arc::clone(body));
        state.readers.run(size, move || Examined::of(&call, &body.bytes, &fetched)).await
    };
    let examined = match (read(Fetched::new()).await?, &state.fetcher) {
        (Ok(examined), _) => examined,
        (Err(urls), Some(fetcher)) => {
            let fetched = Arc::clone(fetcher).fetch(urls).await;
            read(fetched).await?.map_err(|_| Problem::internal())?
        }
        (Err(_), None) => return Err(Problem::internal()),
    };
    if let Some(logged) = &examined.logged {
        record.set_request(logged.json());
    }
    // Return violations before decoding the images, because decoding can take seconds.
    let valid = examined.request.map_err(invalid)?;
    let mut damaged = Vec::new();
    for (loc, image) in examined.images {
        let size = JobSize::of_pixels(image.pixels());
        if let Err(problem) = state.readers.run(size, move || image.check()).await? {
            damaged.push(Violation::value(loc, problem));
        }
    }
    if !damaged.is_empty() {
        return Err(invalid(damaged));
    }
    record.ignored_fields.clone_from(&valid.ignored);
    Ok(valid)
}

impl Examined {
    /// Examines a body. If images must be fetched first, returns their URLs.
    fn of(call: &Call, body: &[u8], fetched: &Fetched) -> Result<Self, BTreeSet<String>> {
        let state = &call.endpoint.state;
        let mut checked = validation::check(&state.config, &call.submission, body, fetched);
        if state.fetcher.is_some() && checked.violations.is_empty() && !checked.addresses.is_empty()
        {
            return Err(checked.addresses);
        }
        let images = std::mem::take(&mut checked.images);
        let request = interpret(call, checked);
        let refused = || LoggedRequest::of_refused(body, &state.contract.secret_fields);
        let logged = match &request {
            Ok(valid) => Some(valid.shown.clone()),
            Err(_) => check_limits(body).ok().and_then(|()| refused()),
        };
        Ok(Self { request, images, logged })
    }
}

/// Reads what a request asks for, if its body has no violations.
fn interpret(call: &Call, mut checked: Checked) -> Validated<ValidRequest> {
    let state = &call.endpoint.state;
    if !checked.violations.is_empty() {
        return Err(checked.violations);
    }
    let submission = &*call.submission;
    let material = (submission.rules.kind == OperationKind::Video)
        .then(|| Material::read(&mut checked, state.config.max_input_pixels))
        .transpose()?;
    check_texts(&checked)?;
    let now = state.clock.unix_now();
    let finetune = (&call.project, submission, &checked.body);
    let finetune_name = valid::finetune_name(&state.records().accounts, finetune, now)?;
    let size = size::of_request(&state.config, submission, &checked.body, &checked.inputs)?;
    let video = material
        .map(|material| material.times(&checked.body, &checked.inputs, size))
        .transpose()?;
    let secret_fields = &state.contract.secret_fields;
    let operation = (&*call.operation, submission);
    let mut valid = ValidRequest::read(&state.config, operation, secret_fields, checked, size);
    if let Some((spec, moments)) = video {
        valid.picture.format = Format::Video(spec);
        valid.picture.moments = moments;
    }
    valid.finetune_name = finetune_name;
    Ok(valid)
}

/// Rejects a request whose texts are so long that searching them for words and faults would take
/// too long.
fn check_texts(checked: &Checked) -> Validated {
    let mut bytes = 0;
    let mut exceeds = |text: &str| {
        bytes += text.len();
        bytes > MAX_TEXT_BYTES
    };
    let mut values = [&checked.body].into_iter().chain(checked.ignored.values());
    if values.any(|value: &Value| texts::any(value, &mut exceeds)) {
        let problem = format!("the texts of the request are longer than {MAX_TEXT_BYTES} bytes");
        return Err(vec![Violation::value(["body"], problem)]);
    }
    Ok(())
}
