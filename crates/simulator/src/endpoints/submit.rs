//! Submissions. What happens to one, in order:
//!
//! 1. Its headers must announce JSON, and may request faults.
//! 2. If its body is large, its key, its project's active tasks and the least that it can cost are
//!    checked first. That spares the client an upload that would be rejected.
//! 3. The body is read, within its limits of size, time and memory.
//! 4. [`examine`] validates it on a worker, fetches and decodes its images, and reads what it asks
//!    for.
//! 5. [`accept`] checks the same as step 2 again, with the actual price: other submissions were
//!    accepted while the body arrived. Then it applies the faults, charges, and creates the task.
//!    All of this happens under one lock, so a submission is charged if and only if it has a task.
//! 6. The response has the polling URL, unless a fault replaces it. A fault may also delay it.

mod accept;
mod examine;

use std::sync::Arc;

use axum::{
    body::Body,
    http::{HeaderMap, header, request::Parts},
    response::Response,
};

use self::{accept::admit, examine::examine};
use super::{Endpoint, Rejection};
use crate::{
    billing::{accounts::ProjectRef, credits::Megapixels},
    contract::{Submission, Violation},
    faults::{FaultPlace, RequestedFaults},
    http::body::{self, BodyError, ReadBody},
    journal::RequestRecord,
    state::AppState,
};

/// Whether a submission with a larger body could be accepted is checked before it is read, too.
const MAX_SMALL_BODY: u64 = 64 << 10;

/// The called operation and its caller: everything about a submission but its body.
pub(super) struct Call {
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
    endpoint: &Endpoint,
    call: Call,
    head: &Parts,
    body: &mut Body,
    record: &mut RequestRecord,
) -> Result<Response, Rejection> {
    let state = &endpoint.state;
    let faults = RequestedFaults::in_header(&head.headers, FaultPlace::Submission)
        .map_err(Rejection::Malformed)?;
    check_content_type(&head.headers)?;
    if body::announced(&head.headers).is_none_or(|length| length > MAX_SMALL_BODY) {
        let price = state.config.prices.for_operation(&call.operation);
        let nothing = Megapixels::default();
        admit(state, &mut state.records(), &call, price.of(nothing, nothing))?;
    }
    let body = Arc::new(read(state, head, body).await?);
    let call = Arc::new(call);
    let mut valid = examine(state, &call, &body, record).await?;
    valid.directives.faults.join(faults, &call.operation, &call.headers, &body);
    let (response, applied) = accept::accept(endpoint, &call, valid, record)?;
    Ok(applied.delay(&state.clock, response).await)
}

fn check_content_type(headers: &HeaderMap) -> Result<(), Rejection> {
    let given =
        headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json")) {
        return Ok(());
    }
    let msg = concat!(
        "Input should be a valid dictionary or object to extract fields from: ",
        "the Content-Type should be application/json",
    );
    Err(Rejection::Invalid(vec![Violation::new(["body"], "model_attributes_type", msg)]))
}

async fn read(state: &AppState, head: &Parts, body: &mut Body) -> Result<ReadBody, Rejection> {
    let limit = state.config.max_body_bytes;
    let read = body::read(head, body, limit, body::share(&state.bodies)).await;
    read.map_err(|error| match error {
        BodyError::TooLarge => Rejection::TooLarge(limit),
        BodyError::NoRoom => Rejection::NoRoom,
        BodyError::TooSlow => Rejection::TooSlow,
        BodyError::Broken => Rejection::Unreadable,
    })
}
