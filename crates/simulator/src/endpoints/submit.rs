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
mod examine;

use std::sync::Arc;

use axum::{
    body::Body,
    http::{HeaderMap, header, request::Parts},
    response::Response,
};

use self::{accept::admit, examine::examine};
use super::{Endpoint, invalid};
use crate::{
    billing::{accounts::ProjectRef, credits::Megapixels},
    contract::{Submission, Violation},
    faults::{FaultPlace, RequestedFaults},
    http::{body, response::Problem},
    journal::RequestRecord,
};

/// If a body is larger than this, the simulator checks whether the submission can be accepted even
/// before it reads the body.
const MAX_SMALL_BODY: u64 = 64 << 10;

/// A submission without its body: the operation, the caller, and the headers.
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
) -> Result<Response, Problem> {
    let state = &endpoint.state;
    let faults = RequestedFaults::in_header(&head.headers, FaultPlace::Submission)
        .map_err(Problem::malformed)?;
    check_content_type(&head.headers)?;
    if body::announced(&head.headers).is_none_or(|length| length > MAX_SMALL_BODY) {
        let price = state.config.prices.for_operation(&call.operation);
        let nothing = Megapixels::default();
        admit(state, &mut state.records(), &call, price.of(nothing, nothing))?;
    }
    let body =
        body::read(head, body, state.config.max_body_bytes, body::share(&state.bodies)).await?;
    let body = Arc::new(body);
    let call = Arc::new(call);
    let mut valid = examine(state, &call, &body, record).await?;
    valid.directives.faults.join(faults, &call.operation, &call.headers, &body);
    let (response, applied) = accept::accept(endpoint, &call, valid, record)?;
    Ok(applied.delay(&state.clock, response).await)
}

fn check_content_type(headers: &HeaderMap) -> Result<(), Problem> {
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
    Err(invalid(vec![Violation::new(["body"], "model_attributes_type", msg)]))
}
